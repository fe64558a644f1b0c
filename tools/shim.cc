// The four symbols that OpenFst's Debian 13 libraries ask of a C library (2.38) and a C++ library
// (GCC 13.2) newer than the machine's, in terms of what every older one has. <iostream> makes the
// standard streams ready when this library is loaded, which is before OpenFst's own globals run;
// so the initialiser that newer C++ libraries call has nothing left to do here.
#include <cstdlib>
#include <iostream>

#define FSMEU_PROVIDES(name) __asm__(name)

extern "C" {

long fsmeu_strtol(const char *text, char **end, int base) FSMEU_PROVIDES("__isoc23_strtol");
long long fsmeu_strtoll(const char *text, char **end, int base) FSMEU_PROVIDES("__isoc23_strtoll");
unsigned long long fsmeu_strtoull(const char *text, char **end, int base)
    FSMEU_PROVIDES("__isoc23_strtoull");
void fsmeu_streams_ready() FSMEU_PROVIDES("_ZSt21ios_base_library_initv");

long fsmeu_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }

long long fsmeu_strtoll(const char *text, char **end, int base) {
  return strtoll(text, end, base);
}

unsigned long long fsmeu_strtoull(const char *text, char **end, int base) {
  return strtoull(text, end, base);
}

void fsmeu_streams_ready() {}
}
