use std::{fmt, fs, io};

use nix::net::if_::{if_indextoname, if_nameindex, if_nametoindex};
use rtnetlink::{
    packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload},
    packet_route::{
        RouteNetlinkMessage,
        link::{LinkAttribute, LinkMessage, LinkXdp, XdpAttached},
    },
    sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE},
};

/// How a program is attached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// After the kernel made a socket buffer.
    Generic,
    /// In the driver.
    Native,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Generic => "generic",
            Self::Native => "native",
        })
    }
}

/// The XDP program on an interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Attached {
    pub(super) mode: Mode,
    pub(super) program: u32,
}

/// An interface by its name and its index.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) index: u32,
}

/// The index of an interface; `None` if there is no such one.
pub(super) fn index(name: &str) -> Option<u32> {
    if_nametoindex(name).ok()
}

/// The name of the interface with this index, or the index itself.
pub(super) fn name(index: u32) -> String {
    if_indextoname(index).map_or_else(
        |_| format!("interface {index}"),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The names of all interfaces.
pub(super) fn names() -> Vec<String> {
    let all = if_nameindex().into_iter().flat_map(|all| {
        let names = all
            .iter()
            .map(|it| it.name().to_string_lossy().into_owned());
        names.collect::<Vec<_>>()
    });
    all.collect()
}

/// The XDP program on an interface, if there is one.
pub(super) fn attached(index: u32) -> io::Result<Option<Attached>> {
    let answer = link(index)?;
    let attributes = answer.attributes.into_iter();
    let xdp: Vec<LinkXdp> = attributes
        .filter_map(|attribute| match attribute {
            LinkAttribute::Xdp(xdp) => Some(xdp),
            _ => None,
        })
        .flatten()
        .collect();
    let program = xdp.iter().find_map(|xdp| match xdp {
        LinkXdp::ProgId(id) => Some(*id),
        _ => None,
    });
    let generic = xdp.contains(&LinkXdp::Attached(XdpAttached::SocketBuffer));
    let mode = if generic { Mode::Generic } else { Mode::Native };
    Ok(program.map(|program| Attached { mode, program }))
}

/// The MAC address of an interface; `None` if it has none, or one of another length.
pub(super) fn station(index: u32) -> io::Result<Option<[u8; 6]>> {
    let attributes = link(index)?.attributes.into_iter();
    let mut addresses = attributes.filter_map(|attribute| match attribute {
        LinkAttribute::Address(address) => Some(address),
        _ => None,
    });
    Ok(addresses.next().and_then(|it| it.try_into().ok()))
}

/// The largest packet that an interface takes, in bytes; `None` if it does not say.
pub(super) fn mtu(index: u32) -> io::Result<Option<u32>> {
    let attributes = link(index)?.attributes.into_iter();
    let mut mtus = attributes.filter_map(|attribute| match attribute {
        LinkAttribute::Mtu(mtu) => Some(mtu),
        _ => None,
    });
    Ok(mtus.next())
}

/// A BPF link that this process has open.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct OpenLink {
    pub(super) id: u32,
    pub(super) program: u32,
    /// The interface; 0 when it is gone.
    pub(super) interface: u32,
}

/// The XDP links that this process has open. The kernel tells a link's interface nowhere else
/// without a raw system call.
pub(super) fn open_links() -> io::Result<Vec<OpenLink>> {
    let texts = fs::read_dir("/proc/self/fdinfo")?
        .filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
    Ok(texts.filter_map(|text| parse(&text)).collect())
}

fn parse(fdinfo: &str) -> Option<OpenLink> {
    let field = |name: &str| {
        let mut lines = fdinfo.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(key, _)| *key == name)?;
        Some(value.trim())
    };
    (field("link_type")? == "xdp").then_some(())?;
    Some(OpenLink {
        id: field("link_id")?.parse().ok()?,
        program: field("prog_id")?.parse().ok()?,
        interface: field("ifindex")?.parse().ok()?,
    })
}

fn link(index: u32) -> io::Result<LinkMessage> {
    let mut question = LinkMessage::default();
    question.header.index = index;
    let mut question = NetlinkMessage::from(RouteNetlinkMessage::GetLink(question));
    question.header.flags = NLM_F_REQUEST;
    question.finalize();
    let mut bytes = vec![0; question.buffer_len()];
    question.serialize(&mut bytes);

    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;
    let (bytes, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::deserialize(&bytes).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(link),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        other => Err(io::Error::other(format!(
            "an answer to no question: {other:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_xdp_link_is_told_from_other_descriptors() {
        let text = "pos:\t0\nflags:\t02000000\nlink_type:\txdp\nlink_id:\t7\nprog_tag:\tab\n\
                    prog_id:\t39\nifindex:\t5\n";
        let link = OpenLink {
            id: 7,
            program: 39,
            interface: 5,
        };
        assert_eq!(parse(text), Some(link));
        assert_eq!(parse(&text.replace("xdp", "tracing")), None);
        assert_eq!(parse("pos:\t0\nflags:\t02000000\n"), None);
        assert_eq!(parse(&text.replace("39", "many")), None);
    }

    #[test]
    fn loopback_is_there_and_a_made_up_interface_is_not() {
        let lo = index("lo").unwrap();
        assert_eq!(name(lo), "lo");
        assert!(link(lo).is_ok());
        assert_eq!(index("wgl-none"), None);
        assert!(link(u32::from(u16::MAX) * 7).is_err());
    }
}
