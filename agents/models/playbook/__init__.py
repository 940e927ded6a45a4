"""The embedded default: a deterministic chat model with a library of CuTe designs."""
