//! The packet that the program runs for.

use core::{hint, ptr};

use aya_ebpf::{
    bindings::xdp_md,
    helpers::generated::{
        bpf_redirect, bpf_xdp_adjust_head, bpf_xdp_adjust_meta, bpf_xdp_adjust_tail,
    },
    programs::XdpContext,
};
use lb_common::{Mac, Proof, Tags, Verdict};
use lb_ebpf::{
    cursor::Cursor,
    forward::{Envelope, gue::Datagram},
    header::Ethernet,
    parse,
    reply::Reply,
    vlan,
};

use super::tables::{self, Target};

/// A packet in the driver's buffer.
pub(super) struct Packet {
    context: XdpContext,
}

impl Packet {
    /// The packet that the kernel called the program with.
    #[inline(always)]
    pub(super) fn new(context: *mut xdp_md) -> Self {
        Self {
            context: XdpContext::new(context),
        }
    }

    /// A cursor at its first byte.
    #[expect(
        clippy::needless_pass_by_ref_mut,
        reason = "the borrow is what makes a second cursor impossible"
    )]
    #[inline(always)]
    pub(super) fn cursor(&mut self) -> Cursor<'_> {
        let start = ptr::with_exposed_provenance_mut(self.context.data());
        let end = ptr::with_exposed_provenance_mut(self.context.data_end());
        // SAFETY: the kernel lets the program alone read and write between the two, and the cursor
        // borrows the packet.
        unsafe { Cursor::new(start, end) }
    }

    /// Bytes of its frame.
    #[inline(always)]
    pub(super) fn length(&self) -> u64 {
        (self.context.data_end() - self.context.data()) as u64
    }

    /// The MAC address that its frame comes from.
    #[inline(always)]
    pub(super) fn sender(&mut self) -> Option<Mac> {
        let ethernet: &mut Ethernet = self.cursor().take()?;
        Some(ethernet.source.mac())
    }

    /// The MAC address of the interface that it came by.
    #[inline(always)]
    pub(super) fn station(&self) -> Mac {
        tables::station(self.interface())
    }

    /// Index of that interface.
    #[inline(always)]
    pub(super) fn interface(&self) -> u32 {
        self.context.ingress_ifindex() as u32
    }

    /// Takes off what tags the frame has, as many as two; `None` if it can not be done.
    #[inline(always)]
    pub(super) fn take_tags_off(&mut self) -> Option<Tags> {
        let tags = vlan::tags(&mut self.cursor());
        let count = tags.count();
        vlan::take_off(&mut self.cursor(), count)?;
        self.shrink(Tags::BYTES * count)?;
        Some(tags)
    }

    /// Puts tags on the frame; `None` if the driver left no room for them.
    #[inline(always)]
    pub(super) fn put_tags_on(&mut self, tags: Tags) -> Option<()> {
        self.grow(Tags::BYTES * tags.count())?;
        vlan::put_on(&mut self.cursor(), tags)
    }

    /// Puts around the packet what has to be around it, if something has.
    ///
    /// # Errors
    /// [`Verdict::NoHeadroom`].
    #[inline(always)]
    pub(super) fn enclose(&mut self, envelope: &Envelope, target: &Target) -> Result<(), Verdict> {
        let growth = envelope.growth();
        if growth == 0 {
            return Ok(());
        }
        if self.grow(growth).is_none() {
            return Err(Verdict::NoHeadroom);
        }
        let written = envelope.write(&mut self.cursor(), &target.way(), target);
        written.ok_or(Verdict::NoHeadroom)
    }

    /// Puts the checksum into the datagram that was put around the packet; `None` if there is none.
    #[inline(always)]
    pub(super) fn sum_datagram(&mut self) -> Option<()> {
        let outer = parse::family(&mut self.cursor())?;
        let datagram = Datagram::of(&mut self.cursor(), outer)?;
        self.cut(datagram.frame())?;
        let checksum = datagram.checksum(&mut self.cursor())?;
        // Through other pointers, as for a reply.
        let mut anew = Self::new(hint::black_box(self.context.ctx));
        datagram.write(&mut anew.cursor(), checksum)
    }

    /// Makes an answer to its sender of the packet; `None` if the driver left no room for it.
    #[inline(always)]
    pub(super) fn turn_back(&mut self, reply: &Reply) -> Option<()> {
        let growth = reply.growth();
        if growth > 0 {
            self.grow(growth)?;
        }
        self.cut(reply.length())?;
        let quoted = reply.quoted(&mut self.cursor())?;
        // Through other pointers: those from before the sum say how long the frame is, and the verifier
        // would go on from each length.
        let mut anew = Self::new(hint::black_box(self.context.ctx));
        reply.write(&mut anew.cursor(), quoted)
    }

    /// Cuts the frame to a length.
    #[inline(always)]
    fn cut(&mut self, length: u32) -> Option<()> {
        // The difference of two pointers has 64 bits: of halves of them the verifier allows none.
        let by = length as i32 - hint::black_box(self.length()) as i32;
        // SAFETY: the helper moves the end of the frame and nothing else.
        let moved = unsafe { bpf_xdp_adjust_tail(self.context.ctx, by) };
        (moved == 0).then_some(())
    }

    /// Makes the frame longer at its beginning; `None` if the driver left no room there. No cursor
    /// may outlive this: the frame begins elsewhere afterwards.
    #[inline(always)]
    fn grow(&mut self, bytes: usize) -> Option<()> {
        // SAFETY: the helper moves the beginning of the frame and nothing else.
        let moved = unsafe { bpf_xdp_adjust_head(self.context.ctx, -(bytes as i32)) };
        (moved == 0).then_some(())
    }

    /// Lets the frame begin so many bytes later. As for growth, no cursor may outlive this.
    #[inline(always)]
    fn shrink(&mut self, bytes: usize) -> Option<()> {
        // SAFETY: as for growth.
        let moved = unsafe { bpf_xdp_adjust_head(self.context.ctx, bytes as i32) };
        (moved == 0).then_some(())
    }

    /// Puts a proof in front of the frame, as its metadata.
    #[inline(always)]
    pub(super) fn put_proof(&mut self, proof: &Proof) {
        const SIZE: usize = size_of::<Proof>();
        // SAFETY: the helper moves the beginning of the metadata and nothing else.
        let moved = unsafe { bpf_xdp_adjust_meta(self.context.ctx, -(SIZE as i32)) };
        let start = self.context.metadata();
        if moved == 0 && start + SIZE <= self.context.metadata_end() {
            let metadata: *mut Proof = ptr::with_exposed_provenance_mut(start);
            // SAFETY: the metadata is this program's, and long enough.
            unsafe { metadata.write_unaligned(*proof) }
        }
    }
}

/// Sends the packet by another interface: what the kernel is told.
#[inline(always)]
pub(super) fn redirect(interface: u32) -> u32 {
    // SAFETY: the helper keeps the number of the interface, and nothing else.
    unsafe { bpf_redirect(interface, 0) as u32 }
}
