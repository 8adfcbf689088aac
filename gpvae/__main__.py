"""`python -m gpvae`."""

from gpvae.cli import main

if __name__ == "__main__":
    main()
