"""What a loss compiles to: views, explicit machines, and their quotients."""
