//! Functions that the driver provides: an object may call them without a definition in the link.

/// Functions that the driver provides.
const DRIVER_FUNCTIONS: [&[u8]; 12] = [
    b"vprintf",
    b"vfprintf",
    b"malloc",
    b"free",
    b"__assertfail",
    b"__profile",
    b"cudaGraphLaunch",
    b"cudaGraphSetConditional",
    b"cudaGraphKernelNodeSetEnabled",
    b"cudaGraphKernelNodeSetGridDim",
    b"cudaGraphKernelNodeSetParam",
    b"cudaGraphKernelNodeUpdatesApply",
];

/// Functions of the device runtime that the driver provides, without their prefix `cnp`.
const RUNTIME_FUNCTIONS: [&[u8]; 21] = [
    b"CtxSynchronize",
    b"DeviceGetAttribute",
    b"DeviceGetName",
    b"EventCreate",
    b"EventDestroy",
    b"EventRecord",
    b"FuncGetAttribute",
    b"GetCacheConfig",
    b"GetDevice",
    b"GetDeviceCount",
    b"GetLastError",
    b"GetLimit",
    b"GetParameterBuffer",
    b"GetParameterBufferV2",
    b"GetSharedMemConfig",
    b"LaunchDevice",
    b"LaunchDeviceV2",
    b"SetLastError",
    b"StreamCreate",
    b"StreamDestroy",
    b"StreamWaitEvent",
];

/// True if a function of this name may stay undefined.
pub fn is_driver_function(name: &[u8]) -> bool {
    name.starts_with(b"__cuda_syscall")
        || DRIVER_FUNCTIONS.contains(&name)
        || name.strip_prefix(b"cnp").is_some_and(|rest| RUNTIME_FUNCTIONS.contains(&rest))
}
