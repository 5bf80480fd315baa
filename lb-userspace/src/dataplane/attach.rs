use std::{error::Error, fs, io};

use aya::{
    Ebpf,
    programs::{
        ProgramError, Xdp, XdpError, XdpMode,
        links::{FdLink, PinnedLink},
        xdp::XdpLink,
    },
};
use nix::errno::Errno;

use super::{
    interface::{self, Attached, Mode, OpenLink},
    object::PROGRAM,
    pins::Pins,
};

/// Why the program is not attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It is attached in the other mode, which a running program can not change.
    #[error(
        "the running program is attached to {interface} in {mode} mode: `waggle detach` and start \
         again to change it, or set `edge.xdp_mode = \"{mode}\"`"
    )]
    OtherMode {
        /// The interface.
        interface: String,
        /// The mode in use.
        mode: Mode,
    },
    /// The pinned link belongs to another interface than the configured one.
    #[error(
        "the running program is attached to {there}, not to {wanted}: `waggle detach` and start again, \
         or set `edge.interfaces` back"
    )]
    OtherInterface {
        /// Where it is attached.
        there: String,
        /// Where it should be.
        wanted: String,
    },
    /// Someone else's program is there.
    #[error(
        "another XDP program{} is attached to {interface}: remove it (`ip link set dev {interface} xdp off`, \
         or end its owner)", id.map(|id| format!(" (id {id})")).unwrap_or_default()
    )]
    OtherProgram {
        /// The interface.
        interface: String,
        /// The program's id.
        id: Option<u32>,
    },
    /// The driver, or its present settings, do not take it.
    #[error("{interface} takes no {mode} XDP program: {reason}{}", match mode {
        Mode::Native => "; set `edge.xdp_mode = \"generic\"`, or \"auto\"",
        Mode::Generic => "",
    })]
    Refused {
        /// The interface.
        interface: String,
        /// The mode that was tried.
        mode: Mode,
        /// What the kernel said.
        reason: String,
    },
    /// The kernel attaches, but not by a link, so the program would not outlive the daemon.
    #[error(
        "the kernel does not attach XDP programs to {interface} by a BPF link: Linux 5.9 or later is needed"
    )]
    NoLink {
        /// The interface.
        interface: String,
    },
    /// The program does not load, or its pin can not be written.
    #[error("the packet program: {0}")]
    Program(#[source] Box<dyn Error + Send + Sync>),
}

fn program_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> AttachError {
    AttachError::Program(error.into())
}

/// A link that an earlier daemon has pinned.
pub(super) struct Running {
    link: FdLink,
    pub(super) mode: Mode,
}

/// The pinned link, if it still holds a program on the interface. One whose interface is gone is
/// removed.
pub(super) fn running(
    pins: &Pins,
    interface: &str,
    index: u32,
) -> Result<Option<Running>, AttachError> {
    if !pins.link().exists() {
        return Ok(None);
    }
    let pinned = PinnedLink::from_pin(pins.link()).map_err(program_error)?;
    let link = FdLink::from(pinned);
    let id = link.info().map_err(program_error)?.id();
    let open = interface::open_links().map_err(program_error)?;
    let open: Option<OpenLink> = open.into_iter().find(|open| open.id == id);
    let Some(open) = open.filter(|open| open.interface != 0) else {
        fs::remove_file(pins.link()).map_err(program_error)?;
        return Ok(None);
    };
    let attached = interface::attached(index).map_err(program_error)?;
    match attached {
        Some(Attached { mode, program }) if program == open.program => {
            Ok(Some(Running { link, mode }))
        }
        _ => Err(AttachError::OtherInterface {
            there: interface::name(open.interface),
            wanted: interface.to_owned(),
        }),
    }
}

/// Puts the object's program in the place of the one that runs: no packet meets none.
pub(super) fn replace(ebpf: &mut Ebpf, running: Running, pins: &Pins) -> Result<(), AttachError> {
    let program = program(ebpf)?;
    program.load().map_err(program_error)?;
    let link = XdpLink::try_from(running.link).map_err(program_error)?;
    let id = program.attach_to_link(link).map_err(program_error)?;
    // From here on the pin alone holds the link, so that to remove the pin is to detach.
    drop(program.take_link(id).map_err(program_error)?);
    pin_program(program, pins)
}

/// Attaches the object's program to an interface that has none, and pins it.
pub(super) fn attach(
    ebpf: &mut Ebpf,
    interface: &str,
    index: u32,
    mode: Mode,
    pins: &Pins,
) -> Result<(), AttachError> {
    let program = program(ebpf)?;
    program.load().map_err(program_error)?;
    let flags = match mode {
        Mode::Generic => XdpMode::Skb,
        Mode::Native => XdpMode::Driver,
    };
    let id = program
        .attach_to_if_index(index, flags)
        .map_err(|error| refused(error, interface, index, mode))?;
    // Where the kernel takes no link, aya attaches by netlink and says nothing.
    let program_id = program.info().map_err(program_error)?.id();
    let links = interface::open_links().map_err(program_error)?;
    if !links.iter().any(|link| link.program == program_id) {
        program.detach(id).map_err(program_error)?;
        let interface = interface.to_owned();
        return Err(AttachError::NoLink { interface });
    }
    let link = program.take_link(id).map_err(program_error)?;
    let link = FdLink::try_from(link).map_err(program_error)?;
    pin_program(program, pins)?;
    link.pin(pins.link()).map_err(program_error)?;
    Ok(())
}

fn program(ebpf: &mut Ebpf) -> Result<&mut Xdp, AttachError> {
    ebpf.program_mut(PROGRAM)
        .ok_or_else(|| program_error(format!("the object has no program `{PROGRAM}`")))?
        .try_into()
        .map_err(program_error)
}

fn pin_program(program: &mut Xdp, pins: &Pins) -> Result<(), AttachError> {
    let next = pins.next_program();
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(program_error(error)),
        _ => {}
    }
    program.pin(&next).map_err(program_error)?;
    fs::rename(&next, pins.program()).map_err(program_error)
}

fn refused(error: ProgramError, interface: &str, index: u32, mode: Mode) -> AttachError {
    let errno = match &error {
        ProgramError::SyscallError(call) => call.io_error.raw_os_error(),
        ProgramError::XdpError(XdpError::NetlinkError(error)) => error.raw_os_error(),
        _ => None,
    };
    let interface = interface.to_owned();
    match errno.map(Errno::from_raw) {
        Some(Errno::EBUSY | Errno::EEXIST) => {
            let there = interface::attached(index).ok().flatten();
            let id = there.map(|attached| attached.program);
            AttachError::OtherProgram { interface, id }
        }
        Some(Errno::EOPNOTSUPP) => AttachError::Refused {
            interface,
            mode,
            reason: "its driver has none".to_owned(),
        },
        Some(errno) => AttachError::Refused {
            interface,
            mode,
            reason: format!(
                "{} ({errno:?}: often an MTU or a number of queues too large for it)",
                errno.desc()
            ),
        },
        None => program_error(error),
    }
}
