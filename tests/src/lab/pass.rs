//! The program that lets everything pass. A veth takes frames that a program on its other end
//! sends only while it has a program itself.

use std::{
    ffi::CString,
    io,
    mem::size_of,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd},
};

use nix::{libc, net::if_::if_nametoindex};

/// Attaches it to `interface` of the present namespace, natively, for as long as the result lives.
#[track_caller]
pub(super) fn attach(interface: &str) -> OwnedFd {
    let name = CString::new(interface).expect("a name without a zero byte");
    let index = if_nametoindex(name.as_c_str())
        .unwrap_or_else(|e| panic!("there is no interface {interface}: {e}"));
    let program = load().unwrap_or_else(|e| panic!("the pass program did not load: {e}"));
    link(&program, index)
        .unwrap_or_else(|e| panic!("{interface} did not take the pass program: {e}"))
}

/// The part of the kernel's `union bpf_attr` that BPF_PROG_LOAD needs.
#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    rest: [u64; 5],
}

fn load() -> io::Result<OwnedFd> {
    const BPF_PROG_LOAD: libc::c_long = 5;
    const BPF_PROG_TYPE_XDP: u32 = 6;
    // r0 = XDP_PASS; exit
    static CODE: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 2, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    bpf(
        BPF_PROG_LOAD,
        &ProgLoad {
            prog_type: BPF_PROG_TYPE_XDP,
            insn_cnt: 2,
            insns: CODE.as_ptr().addr() as u64,
            license: c"GPL".as_ptr().addr() as u64,
            ..ProgLoad::default()
        },
    )
}

/// The part that BPF_LINK_CREATE needs.
#[repr(C)]
struct LinkCreate {
    program: RawFd,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

fn link(program: &OwnedFd, interface: u32) -> io::Result<OwnedFd> {
    const BPF_LINK_CREATE: libc::c_long = 28;
    const BPF_XDP: u32 = 37;
    const XDP_FLAGS_DRV_MODE: u32 = 4;
    bpf(
        BPF_LINK_CREATE,
        &LinkCreate {
            program: program.as_raw_fd(),
            interface,
            attach_type: BPF_XDP,
            flags: XDP_FLAGS_DRV_MODE,
        },
    )
}

fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `attributes`, and what its pointers point to, within the call only;
    // both live longer.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    let fd = RawFd::try_from(result).expect("a file descriptor or -1");
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
