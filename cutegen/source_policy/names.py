"""Names a candidate may not use, by what they would be used for."""

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """Names of one kind: what they do, and what a kernel does instead."""

    names: re.Pattern[str]
    what: str
    advice: str


_STREAM = "put all work on a->stream"
_NO_HOST = "a kernel computes from its arguments alone; take this out"

DISTINCT = (
    Rule(
        re.compile(
            r"cu(da)?StreamCreate\w*|cudaStreamNonBlocking|cudaStreamPerThread|cudaStreamLegacy"
            r"|CU_STREAM_(NON_BLOCKING|PER_THREAD|LEGACY)"
        ),
        "makes or takes a stream of its own",
        _STREAM,
    ),
    Rule(
        re.compile(r"cu(da)?Graph(?!icsRes)\w+|cu(da)?Stream(Begin|End)Capture\w*"),
        "records CUDA graphs",
        "launch the kernels on a->stream; graphs are made around a candidate, not in it",
    ),
    Rule(
        re.compile(
            r"cudaAccessPropert(y|ies)\w*|accessPolicyWindow|cudaAccessPolicyWindow"
            r"|cudaStreamAttribute\w*|cu(da)?StreamSetAttribute|cudaLaunchAttributeAccessPolicyWindow"
            r"|cudaLimitPersistingL2CacheSize|cu(da)?CtxResetPersistingL2Cache|cudaDeviceSetLimit"
            r"|CU_LIMIT_PERSISTING_L2_CACHE_SIZE|cuCtxSetLimit"
        ),
        "keeps data in L2 from one call to the next",
        "every call is timed on a cold cache; use cache hints on loads and stores instead",
    ),
    Rule(
        re.compile(
            r"cudaMalloc\w*|cudaHostAlloc|cudaHostRegister|cudaMemPool\w*|cuMem(Alloc|Create|Map"
            r"|HostAlloc|HostRegister|Pool)\w*|cudaIpc\w+|cuIpc\w+"
        ),
        "allocates memory of its own",
        "define cutegen_workspace_bytes and use a->workspace",
    ),
    Rule(
        re.compile(r"cu(da)?Event(Create|Elapsed|Record)\w*|cudaProfiler\w+|cupti\w+"),
        "takes times or orders streams by events",
        "the harness takes the times; kernels on a->stream run in order",
    ),
    Rule(
        re.compile(r"cu(da)?LaunchHostFunc\w*|cu(da)?StreamAddCallback"),
        "has the host work in the stream",
        _STREAM,
    ),
    Rule(
        re.compile(r"cudaDeviceReset|cuCtxDestroy\w*|cuDevicePrimaryCtx\w+|cuModule(Load|Get)\w*"),
        "takes the device's context into its own hands",
        _NO_HOST,
    ),
    Rule(
        re.compile(
            r"pthread_(create|kill|cancel|detach|atfork|attr_\w+|set\w+)|vfork|execv[pe]*|execl[pe]*|posix_spawn\w*|popen|setsid"
            r"|std::(thread|async|jthread)"
        ),
        "starts threads or processes",
        _STREAM,
    ),
    Rule(
        re.compile(
            r"fopen\w*|freopen\w*|fdopen|[io]?fstream|basic_[io]?fstream|opendir|readdir|openat"
            r"|std::filesystem|mkstemp\w*|memfd_create"
        ),
        "opens files",
        _NO_HOST,
    ),
    Rule(
        re.compile(r"dlopen|dlsym|dlmopen|dladdr\w*|dl_iterate_phdr"),
        "looks for code outside of itself",
        "define every function in the candidate",
    ),
    Rule(
        re.compile(r"getaddrinfo|gethostbyname|inet_\w+|sockaddr\w*"),
        "reaches for the network",
        _NO_HOST,
    ),
    Rule(
        re.compile(
            r"getenv|setenv|putenv|unsetenv|secure_getenv|environ|ptrace|mprotect|mmap|munmap"
            r"|process_vm_\w+|syscall|prctl|sigaction|getppid|longjmp|sigsetjmp|clock_gettime"
            r"|gettimeofday"
        ),
        "takes hold of the process it runs in",
        _NO_HOST,
    ),
)
"""Names that mean one thing only, wherever they stand."""

CALLED = Rule(
    re.compile(
        r"open|close|read|write|creat|dup2?|socket|connect|bind|listen|accept|send|recv|sendto"
        r"|unlink|rename|remove|rmdir|mkdir|chdir|fork|daemon|kill|raise|signal|system|exit|_exit|_Exit"
        r"|quick_exit|atexit|sleep|usleep|nanosleep|setrlimit|tmpfile"
    ),
    "calls the operating system",
    _NO_HOST,
)
"""Names that are also plain words: only calls count, of functions the source does not define."""

LIBRARIES = re.compile(r"(cublas|cudnn|cufft|cusparse|cusolver|cutensor|curand|nccl|nvrtc)[A-Z]\w*")
"""Functions and types of host libraries."""
