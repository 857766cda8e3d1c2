"""`python -m evener` is the `evener` command."""

from evener.cli import main

if __name__ == "__main__":
    main()
