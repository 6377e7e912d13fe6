"""`python -m mase_hw` is `mase-hw`."""

from mase_hw.cli import main

if __name__ == "__main__":
    main()
