"""The test bench that runs inside the simulator: cocotb, numpy and SystemVerilog; never torch."""
