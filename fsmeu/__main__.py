"""`python -m fsmeu` is the command `fsmeu`."""

from fsmeu.cli.main import main

if __name__ == "__main__":
    main()
