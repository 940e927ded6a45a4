"""Whether hardware counters can be read here: Nsight Compute counts one empty kernel.

Run as a program, the module launches that kernel, from PTX that the driver compiles itself, so that
neither nvcc nor PyTorch is needed. It imports the standard library only.
"""

import ctypes
import sys

_PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry probe() { ret; }
\0"""


def launch_empty_kernel(device: int) -> None:
    """Launch the kernel once and wait for it.

    Raises:
        RuntimeError: The driver refuses; the message names the call.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    handle = ctypes.c_int()

    def call(name: str, *arguments: object) -> None:
        code = getattr(driver, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} failed with CUresult {code}")

    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(handle), device)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), _PTX)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"probe")
    call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    call("cuCtxSynchronize")


if __name__ == "__main__":
    launch_empty_kernel(int(sys.argv[1]))
