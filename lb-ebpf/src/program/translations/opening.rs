//! Gives a new flow a port at its target.

use aya_ebpf::bindings::xdp_md;
use lb_common::{
    Entry, Exit, FlowState, IdleTicks, Mac, NAT_HOLDS, NAT_PROBES, Protocol, Translation,
    TranslationKey, Verdict,
};
use lb_ebpf::{
    entry,
    parse::{Flow, Signal},
    word,
};

use super::{
    super::{
        clock, counted, flows,
        outcome::Outcome,
        packet::Packet,
        pins::Content,
        recent, services,
        tables::{self, Tables, Target, TranslationSlot},
        unsent,
    },
    Probes, back_to_sender,
};

/// Makes a translation for the flow of what was found in a frame.
#[inline(always)]
pub(in super::super) fn open(context: *mut xdp_md, target: u16) -> Outcome {
    let packet = Packet::new(context);
    let bytes = packet.length();
    let Some(Content { flow, from, .. }) = tables::content() else {
        return counted(Verdict::NotOurs, bytes);
    };
    let Some(service) = services::find(&flow.tuple) else {
        return counted(Verdict::NotOurs, bytes);
    };
    let target = service.tables.target(target);
    let back = (Mac::of_number(*from), back_to_sender(&packet, &target));
    match translation(flow, &target, back, service.tables) {
        Ok(()) => {
            recent::forget(flow);
            Outcome::OPENED
        }
        Err(verdict) => unsent(service.id, verdict, 0, bytes),
    }
}

/// `back` is the station that the flow's packet came from, and how others get there.
///
/// # Errors
/// Why it has no translation.
#[inline(always)]
fn translation(
    flow: &Flow,
    target: &Target,
    back: (Mac, Exit),
    tables: Tables,
) -> Result<(), Verdict> {
    if flow.tuple.protocol == Protocol::TCP && flow.signal != Signal::Open {
        return Err(Verdict::Untranslated);
    }
    let now = clock::now();
    if !flows::within_budget(now) {
        return Err(Verdict::TranslationLimited);
    }
    let idle = tables.keys().idle;
    let probes = Probes::of(flow, target, tables);
    let state = match flow.tuple.protocol {
        // Its port is its own for as long after the first datagram as after others (RFC 4787, REQ-5).
        Protocol::UDP => FlowState::DATAGRAM,
        _ => entry::first_state(flow),
    };
    let life = Entry::life(now, state);
    let translation = Translation::new(&flow.tuple, target.id, life, back);
    let mut weak = NAT_PROBES;
    for probe in 0..NAT_PROBES {
        let key = TranslationKey::there(&probes.tuple(flow, probe));
        match make(&key, &translation, idle, now) {
            Made::Done => return Ok(()),
            // Else the verifier would go the rest for every one that it could be.
            Made::Weak => weak = word::unbounded(probe.into()) as u32,
            Made::Taken => {}
        }
    }
    if weak == NAT_PROBES {
        return Err(Verdict::NoPort);
    }
    let key = TranslationKey::there(&probes.tuple(flow, weak));
    match make(&key, &translation, &NAT_HOLDS, now) {
        Made::Done => Ok(()),
        Made::Weak | Made::Taken => Err(Verdict::NoPort),
    }
}

/// Whether a translation could be made.
enum Made {
    Done,
    /// There is one, which gives way if there is no other place.
    Weak,
    Taken,
}

/// Makes a translation in a place that is free, or whose flow was idle for longer than `idle`.
#[inline(always)]
fn make(key: &TranslationKey, translation: &Translation, idle: &IdleTicks, now: u32) -> Made {
    if let Some(slot) = TranslationSlot::of(key) {
        let present = slot.load();
        if present.is_live(now, idle) {
            return match present.is_live(now, &NAT_HOLDS) {
                true => Made::Taken,
                false => Made::Weak,
            };
        }
        tables::remove_translation(key);
    }
    match tables::put_translation(key, translation) {
        Some(()) => Made::Done,
        None => Made::Taken,
    }
}
