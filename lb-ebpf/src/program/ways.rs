//! The ways that a packet goes, which the verifier checks each by itself.
//!
//! A function whose name others could link to is checked once, whatever was known where it is called
//! (since Linux 5.6; what it gives back must be a bare number). So what one way costs is not
//! multiplied by the ways before it, and each has the stack of its own.

use aya_ebpf::bindings::xdp_md;
use lb_common::{Entry, FlowEvent, Verdict};
use lb_ebpf::parse::Family;

use super::{
    BY_RING, control, counted, flows, follow, fragments, leave, log,
    outcome::Outcome,
    packet::Packet,
    pins::{self, Content, Shape},
    replies, tables, translations,
};

/// The way of packets of known flows. Each family has its copy, in which the compiler leaves out what is the
/// other's.
#[inline(always)]
pub(super) fn follow(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(match family {
        Family::V4 => follow_v4(context),
        Family::V6 => follow_v6(context),
    })
}

/// The way of a packet that begins a flow, or may not follow its flow's entry.
#[inline(always)]
pub(super) fn begin(context: *mut xdp_md, family: Family) -> Outcome {
    let outcome = Outcome::of_word(begin_flow(context, family as u32, BY_RING.into()));
    match outcome.or_choose(context, family, Shape::Packet) {
        Ok(target) => Outcome::of_word(begin_flow(context, family as u32, target.into())),
        Err(outcome) => outcome,
    }
}

/// The way of a fragment to the address of a service.
#[inline(always)]
pub(super) fn fragment(context: *mut xdp_md, family: Family) -> Outcome {
    let outcome = Outcome::of_word(first_fragment(context, family as u32, BY_RING.into()));
    let outcome = match outcome.or_choose(context, family, Shape::Fragment) {
        Ok(target) => Outcome::of_word(first_fragment(context, family as u32, target.into())),
        Err(outcome) => outcome,
    };
    let outcome = match outcome {
        Outcome::ROUTED => Outcome::of_word(routed_fragment(context, family as u32)),
        outcome => outcome,
    };
    if !outcome.is_to_translate() {
        return outcome;
    }
    open_and_go(context, family, Shape::Fragment, outcome, |word| {
        translated_fragment_there(context, family as u32, word)
    })
}

/// The way of an ICMP message to the address of a service.
#[inline(always)]
pub(super) fn control(context: *mut xdp_md, family: Family) -> Outcome {
    let outcome = Outcome::of_word(control_message(context, family as u32));
    let outcome = match outcome.or_choose(context, family, Shape::Error) {
        Ok(target) => Outcome::of_word(relayed_error(context, family as u32, target.into())),
        Err(outcome) => outcome,
    };
    match outcome.is_to_translate() {
        true => {
            let target = outcome.target().into();
            Outcome::of_word(translated_error_there(context, family as u32, target))
        }
        false => outcome,
    }
}

/// The way of a packet that is to be translated, in copies as that of most packets.
#[inline(always)]
pub(super) fn translate(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    open_and_go(
        context,
        family,
        Shape::Packet,
        outcome,
        |word| match family {
            Family::V4 => translated_there_v4(context, word),
            Family::V6 => translated_there_v6(context, word),
        },
    )
}

/// Goes a way that may find that the packet's flow has no translation: then makes one and goes it again.
#[inline(always)]
fn open_and_go(
    context: *mut xdp_md,
    family: Family,
    shape: Shape,
    outcome: Outcome,
    go: impl Fn(u32) -> u32,
) -> Outcome {
    let went = Outcome::of_word(go(outcome.word()));
    if went != Outcome::TO_OPEN {
        return went;
    }
    let target = outcome.target().into();
    let opened = found(context, family, shape, || {
        opened_translation(context, target)
    });
    match opened {
        Outcome::OPENED => Outcome::of_word(go(outcome.opened().word())),
        refused => refused,
    }
}

/// The way of a packet that may be what a backend answers to a translated one.
#[inline(always)]
pub(super) fn answer(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(match family {
        Family::V4 => translated_back_v4(context),
        Family::V6 => translated_back_v6(context),
    })
}

/// The way of a fragment that may be of what a backend answers to a translated packet.
#[inline(always)]
pub(super) fn answer_fragment(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(translated_fragment_back(context, family as u32))
}

/// The way of an ICMP message that may be an error about a translated packet.
#[inline(always)]
pub(super) fn answer_control(context: *mut xdp_md, family: Family) -> Outcome {
    Outcome::of_word(translated_error_back(context, family as u32))
}

impl Outcome {
    /// The target that was chosen, or is chosen now if nobody could yet.
    ///
    /// # Errors
    /// What became of the packet instead.
    #[inline(always)]
    fn or_choose(self, context: *mut xdp_md, family: Family, shape: Shape) -> Result<u16, Self> {
        let outcome = match self {
            Self::TO_CHOOSE => found(context, family, shape, || choice(context, shape)),
            outcome => outcome,
        };
        outcome.chosen().ok_or(outcome)
    }
}

/// Writes an entry into a bucket of the flow table.
#[inline(always)]
pub(super) fn write_entry(bucket: u32, entry: Entry) -> FlowEvent {
    match written_entry(bucket, entry.name, entry.life) {
        INSERTED => FlowEvent::Inserted,
        EVICTED => FlowEvent::Evicted,
        _ => FlowEvent::Limited,
    }
}

const INSERTED: u32 = FlowEvent::Inserted as u32;
const EVICTED: u32 = FlowEvent::Evicted as u32;

/// Takes the tags off a frame that has some, and keeps them for [`leave`].
#[inline(always)]
pub(super) fn take_tags_off(context: *mut xdp_md) -> bool {
    taken_tags_off(context) != 0
}

/// Lets a frame leave, or stay, with the tags that it then has: what the kernel is told.
#[inline(always)]
pub(super) fn leave(context: *mut xdp_md, outcome: Outcome) -> u32 {
    left(context, outcome.word())
}

/// Puts the checksum into the datagram that a packet was sent in, if it was.
#[inline(always)]
pub(super) fn sum(context: *mut xdp_md, outcome: Outcome) {
    summed(context, outcome.word());
}

/// Notes a packet for the log.
#[inline(always)]
pub(super) fn note(context: *mut xdp_md, family: Family) {
    noted(context, family as u32);
}

/// Logs what became of it.
#[inline(always)]
pub(super) fn log(outcome: Outcome) {
    logged(outcome.word());
}

/// The way of a packet whose sender is to be told what `outcome` says.
#[inline(always)]
pub(super) fn reply(context: *mut xdp_md, family: Family, outcome: Outcome) -> Outcome {
    Outcome::of_word(reply_to_sender(context, family as u32, outcome.word()))
}

/// Goes a way by what is in a frame. That is found before it and not within it, since both together need more
/// stack than there is.
#[inline(always)]
fn found(context: *mut xdp_md, family: Family, shape: Shape, go: impl FnOnce() -> u32) -> Outcome {
    match found_content(context, family as u32, shape) {
        0 => counted(Verdict::NotOurs, Packet::new(context).length()),
        _ => Outcome::of_word(go()),
    }
}

/// What is in a frame. The verifier goes on from here once, and not for every shape that a packet may have.
#[inline(always)]
pub(super) fn content(
    context: *mut xdp_md,
    family: Family,
    shape: Shape,
) -> Option<&'static Content> {
    match found_content(context, family as u32, shape) {
        0 => None,
        _ => tables::content().map(|content| &*content),
    }
}

/// A family that crossed a call. The verifier has to see that there are two.
#[inline(always)]
fn of_word(family: u32) -> Family {
    match family & 1 {
        0 => Family::V4,
        _ => Family::V6,
    }
}

// SAFETY, of the names below: the program is linked with nothing that could have the same ones.

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn follow_v4(context: *mut xdp_md) -> u32 {
    follow::follow(context, Family::V4).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn follow_v6(context: *mut xdp_md) -> u32 {
    follow::follow(context, Family::V6).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn begin_flow(context: *mut xdp_md, family: u32, chosen: u32) -> u32 {
    super::begin(context, of_word(family), chosen as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn first_fragment(context: *mut xdp_md, family: u32, chosen: u32) -> u32 {
    fragments::begin(context, of_word(family), chosen as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn routed_fragment(context: *mut xdp_md, family: u32) -> u32 {
    fragments::follow(context, of_word(family)).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn control_message(context: *mut xdp_md, family: u32) -> u32 {
    control::handle(context, of_word(family)).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn relayed_error(context: *mut xdp_md, family: u32, target: u32) -> u32 {
    control::pass_on(context, of_word(family), target as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn choice(context: *mut xdp_md, shape: Shape) -> u32 {
    pins::choose(context, shape).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn found_content(context: *mut xdp_md, family: u32, shape: Shape) -> u32 {
    match (
        tables::content(),
        Content::of(context, of_word(family), shape),
    ) {
        (Some(content), Some(found)) => {
            *content = found;
            1
        }
        _ => 0,
    }
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn reply_to_sender(context: *mut xdp_md, family: u32, outcome: u32) -> u32 {
    replies::send(context, of_word(family), Outcome::of_word(outcome)).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_there_v4(context: *mut xdp_md, outcome: u32) -> u32 {
    translations::there(context, Family::V4, Outcome::of_word(outcome)).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_there_v6(context: *mut xdp_md, outcome: u32) -> u32 {
    translations::there(context, Family::V6, Outcome::of_word(outcome)).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_back_v4(context: *mut xdp_md) -> u32 {
    translations::back(context, Family::V4).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_back_v6(context: *mut xdp_md) -> u32 {
    translations::back(context, Family::V6).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_fragment_there(context: *mut xdp_md, family: u32, outcome: u32) -> u32 {
    let outcome = Outcome::of_word(outcome);
    translations::fragments::there(context, of_word(family), outcome).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn opened_translation(context: *mut xdp_md, target: u32) -> u32 {
    translations::opening::open(context, target as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_fragment_back(context: *mut xdp_md, family: u32) -> u32 {
    translations::fragments::back(context, of_word(family)).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_error_there(context: *mut xdp_md, family: u32, target: u32) -> u32 {
    translations::errors::there(context, of_word(family), target as u16).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn translated_error_back(context: *mut xdp_md, family: u32) -> u32 {
    translations::errors::back(context, of_word(family)).word()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn written_entry(bucket: u32, name: u64, life: u64) -> u32 {
    flows::write(bucket, Entry { name, life }) as u32
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn taken_tags_off(context: *mut xdp_md) -> u32 {
    leave::take_tags_off(context).is_some().into()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn left(context: *mut xdp_md, outcome: u32) -> u32 {
    leave::leave(context, Outcome::of_word(outcome))
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn summed(context: *mut xdp_md, outcome: u32) -> u32 {
    super::sum(context, Outcome::of_word(outcome))
        .is_some()
        .into()
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn noted(context: *mut xdp_md, family: u32) -> u32 {
    log::note(context, of_word(family));
    0
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn logged(outcome: u32) -> u32 {
    log::write(Outcome::of_word(outcome));
    0
}
