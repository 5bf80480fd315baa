//! Generic UDP Encapsulation (draft-ietf-intarea-gue-09, variant 0) without options: a header of UDP and one
//! of four bytes in front of the packet, as Linux takes them off (`ip fou add port 6080 gue`).

use crate::{cursor::Cursor, header::Bytes, word};

/// Bytes of both headers.
pub(super) const LENGTH: usize = 12;

/// The source port of a flow's datagrams, one of 49152 to 65535: by it routers and network cards spread the
/// flows of a tunnel.
#[inline(always)]
pub(super) fn source_port(label: u32) -> u32 {
    0xc000 | label & 0x3fff
}

/// Writes both headers of a datagram of so many bytes; `protocol` says what is in it. `None` if the frame is
/// too short.
///
/// There is no checksum, over IPv6 either (RFC 6935, RFC 6936): the packet inside has its own, and the sum would
/// take a walk over all of it.
#[inline(always)]
pub(super) fn write(
    cursor: &mut Cursor<'_>,
    [source, length]: [u32; 2],
    [c, d]: [u8; 2],
    protocol: u8,
) -> Option<()> {
    let headers: &mut Bytes<LENGTH> = cursor.take()?;
    let [a, b] = (source as u16).to_be_bytes();
    let [high, low] = (length as u16).to_be_bytes();
    let words = [[a, b, c, d], [high, low, 0, 0], [0, protocol, 0, 0]];
    word::put_words::<0, 3, _>(headers, &words.map(u32::from_ne_bytes));
    Some(())
}
