"""What Nsight Compute is asked for, and under which names the answers come.

Names are those of the Nsight Compute Profiling Guide (2025.3): unit, quantity, roll-up. A metric
that a device does not have is reported as n/a and simply missing afterwards.
"""

SECTIONS = (
    "SpeedOfLight",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
    "ComputeWorkloadAnalysis",
    "LaunchStats",
    "Occupancy",
    "SchedulerStats",
    "WarpStateStats",
    "SourceCounters",
)

DURATION = "gpu__time_duration.sum"
CLOCK = "gpc__cycles_elapsed.avg.per_second"

SM_THROUGHPUT = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY_THROUGHPUT = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM_THROUGHPUT = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
L2_THROUGHPUT = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
L1_THROUGHPUT = "l1tex__throughput.avg.pct_of_peak_sustained_active"
DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
L2_HIT_RATE = "lts__t_sector_hit_rate.pct"
L1_HIT_RATE = "l1tex__t_sector_hit_rate.pct"

GLOBAL_LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
GLOBAL_LOAD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
GLOBAL_STORE_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
GLOBAL_STORE_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
LOAD_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"
STORE_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"
LOCAL_LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"
LOCAL_STORE_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"

SHARED_LOAD_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_STORE_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
SHARED_LOAD_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
SHARED_STORE_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
SHARED_WAVEFRONTS = "memory_l1_wavefronts_shared"
SHARED_WAVEFRONTS_IDEAL = "memory_l1_wavefronts_shared_ideal"

WARPS_ACTIVE = "sm__warps_active.avg.pct_of_peak_sustained_active"
WARPS_POSSIBLE = "sm__maximum_warps_per_active_cycle_pct"
OCCUPANCY_LIMITS = {
    "registers": "launch__occupancy_limit_registers",
    "shared-memory": "launch__occupancy_limit_shared_mem",
    "warps": "launch__occupancy_limit_warps",
    "blocks": "launch__occupancy_limit_blocks",
    "barriers": "launch__occupancy_limit_barriers",
}
REGISTERS = "launch__registers_per_thread"
GRID = "launch__grid_size"
BLOCK = "launch__block_size"
WAVES = "launch__waves_per_multiprocessor"
MULTIPROCESSORS = "launch__sm_count"
STATIC_SHARED = "launch__shared_mem_per_block_static"
DYNAMIC_SHARED = "launch__shared_mem_per_block_dynamic"

ISSUED = "smsp__issue_active.avg.per_cycle_active"
ELIGIBLE = "smsp__warps_eligible.avg.per_cycle_active"
STALL_PREFIX = "smsp__average_warps_issue_stalled_"
STALL_SUFFIX = "_per_issue_active.ratio"

TENSOR_CORES = "the tensor cores"
TENSOR_PIPE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
PIPES = {
    TENSOR_PIPE: TENSOR_CORES,
    "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active": TENSOR_CORES,
    "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active": TENSOR_CORES,
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active": "the FMA pipe",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active": "the FMA pipe",
    "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active": "the ALU pipe",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active": "the ALU pipe",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": "the special-function pipe",
    "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active": "the fp64 pipe",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active": "the load/store pipe",
}
"""Pipes of a multiprocessor, as shares of their peak, and what to call them."""

CHOSEN = (
    DURATION,
    CLOCK,
    SM_THROUGHPUT,
    MEMORY_THROUGHPUT,
    DRAM_THROUGHPUT,
    L2_THROUGHPUT,
    L1_THROUGHPUT,
    DRAM_READ,
    DRAM_WRITTEN,
    L2_HIT_RATE,
    L1_HIT_RATE,
    GLOBAL_LOAD_SECTORS,
    GLOBAL_LOAD_REQUESTS,
    GLOBAL_STORE_SECTORS,
    GLOBAL_STORE_REQUESTS,
    LOAD_BYTES_PER_SECTOR,
    STORE_BYTES_PER_SECTOR,
    LOCAL_LOAD_SECTORS,
    LOCAL_STORE_SECTORS,
    SHARED_LOAD_WAVEFRONTS,
    SHARED_STORE_WAVEFRONTS,
    SHARED_LOAD_CONFLICTS,
    SHARED_STORE_CONFLICTS,
    SHARED_WAVEFRONTS,
    SHARED_WAVEFRONTS_IDEAL,
    WARPS_ACTIVE,
    WARPS_POSSIBLE,
    REGISTERS,
    GRID,
    BLOCK,
    WAVES,
    STATIC_SHARED,
    DYNAMIC_SHARED,
    ISSUED,
    ELIGIBLE,
    *PIPES,
)
"""The metrics asked for by name, beside the sections: what the digest is made of."""
