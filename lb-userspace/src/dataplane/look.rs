use std::path::Path;

use super::{
    Kernel, detach,
    interface::{self, Mode},
    pins::Pins,
};
use crate::refusal::Refusal;

/// What a daemon has pinned, be it that it runs or not.
pub struct Left {
    /// The maps.
    pub kernel: Kernel,
    /// Where the program is attached, and how.
    pub attached: Vec<(String, Mode)>,
}

/// Opens the maps that are pinned in `pin_dir`, to read them; none if nothing is pinned there.
/// Program and link are left alone.
///
/// # Errors
///
/// The maps are of another version, or this process may not open them.
pub fn look(pin_dir: &Path) -> Result<Option<Left>, Refusal> {
    let pins = Pins::new(pin_dir);
    if !pins.maps().exists() {
        return Ok(None);
    }
    pins.check_place()?;
    pins.check_abi()?;
    let kernel = Kernel::open(pin_dir)?;
    let attached = detach::links(&pins)?.into_iter().filter_map(|link| {
        let there = interface::attached(link.interface).ok().flatten()?;
        let ours = there.program == link.program;
        ours.then(|| (interface::name(link.interface), there.mode))
    });
    let attached = attached.collect();
    Ok(Some(Left { kernel, attached }))
}
