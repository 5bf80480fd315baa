use std::fs;

use crate::refusal::{Refusal, host};

/// Checks that this kernel can run the packet program, and that this process may load it.
///
/// # Errors
///
/// The kernel is too old, the process lacks capabilities, or /proc does not tell.
pub fn check_host() -> Result<(), Refusal> {
    let release = read("/proc/sys/kernel/osrelease")?;
    if is_too_old(&release) {
        let [major, minor] = OLDEST;
        return Err(host::old_kernel(
            format_args!("{major}.{minor}"),
            release.trim(),
        ));
    }
    match missing(&read("/proc/self/status")?) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(host::missing_capabilities(missing.join(", "))),
    }
}

fn read(path: &str) -> Result<String, Refusal> {
    fs::read_to_string(path).map_err(|error| host::no_proc(path, error))
}

/// The version whose verifier checks functions with pointers to memory by themselves, the newest thing that the
/// program needs.
const OLDEST: [u32; 2] = [5, 12];

/// A release that is not understood is not refused: the kernel itself will say what it lacks.
fn is_too_old(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    let version: Option<[u32; 2]> = number().zip(number()).map(Into::into);
    version.is_some_and(|version| version < OLDEST)
}

/// Bits of `CapEff` (linux/capability.h).
const NEEDED: [(&str, u32); 3] = [("CAP_BPF", 39), ("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38)];
const CAP_SYS_ADMIN: u32 = 21;

/// The capabilities that a process with this `/proc/PID/status` lacks.
fn missing(status: &str) -> Vec<&'static str> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    let has = |bit: u32| effective >> bit & 1 != 0;
    // CAP_SYS_ADMIN holds all that was split off from it.
    let lacks = |name: &str, bit| !has(bit) && (name == "CAP_NET_ADMIN" || !has(CAP_SYS_ADMIN));
    let lacking = NEEDED.into_iter().filter(|(name, bit)| lacks(name, *bit));
    lacking.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_whose_verifier_lacks_what_the_program_needs_is_too_old() {
        for old in ["5.11.0", "5.10.0-28-amd64\n", "5.9.16", "4.19.0", "3.10"] {
            assert!(is_too_old(old), "{old}");
        }
        for new in [
            "5.12.0",
            "5.15.0-91-generic\n",
            "6.1.0",
            "10.0",
            "custom",
            "",
        ] {
            assert!(!is_too_old(new), "{new}");
        }
    }

    #[test]
    fn what_a_process_may_do_stands_in_its_status() {
        let all = ["CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"];
        let with = |effective: &str| missing(&format!("Name:\tx\nCapEff:\t{effective}\n"));
        assert_eq!(with("000001ffffffffff"), [""; 0]);
        assert_eq!(with("0000000000000000"), all);
        assert_eq!(with("000000c000001000"), [""; 0]);
        assert_eq!(with("0000000000201000"), [""; 0], "CAP_SYS_ADMIN");
        assert_eq!(with("000000c000000000"), ["CAP_NET_ADMIN"]);
        assert_eq!(with("no number"), all);
        assert_eq!(missing(""), all);
    }
}
