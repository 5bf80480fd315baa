use std::{fmt, num::NonZeroU8};

use serde::{Deserialize, Serialize};

/// How probe results become health (semantics.md 4.1, "health rule").
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HealthRule {
    /// Enough failures within a burst of probes (NetScaler, D97).
    Burst(BurstRule),
    /// Failures in a row (Traffic Manager, D29).
    Consecutive(ConsecutiveRule),
    /// Failures add up until good probes in a row clear them (gdnsd, D104).
    Leaky(LeakyRule),
    /// So many of the last probes (Front Door, S37).
    Window(WindowRule),
}

/// Down when enough of a burst of probes are bad (D97). A burst begins with a bad probe, and is over as
/// soon as the rest of it can not change anything.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "Burst", into = "Burst")]
pub struct BurstRule {
    retries: u8,
    failures: u8,
    rise: NonZeroU8,
}

/// Down after bad probes in a row, up after good ones in a row (D29).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ConsecutiveRule {
    /// How many bad ones. One more than the failures that Traffic Manager tolerates (D27).
    pub fall: NonZeroU8,
    /// How many good ones.
    pub rise: NonZeroU8,
}

/// Down when the count of bad probes is full, which good ones in a row clear (D104).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LeakyRule {
    /// How many bad probes are too many.
    pub down: NonZeroU8,
    /// How many good ones in a row clear the count.
    pub ok: NonZeroU8,
    /// How many good ones in a row bring it up again.
    pub up: NonZeroU8,
}

/// Healthy while at least `required` of the last `window` probes were good (S37, S38).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WindowRule {
    window: u8,
    required: u8,
}

/// Why numbers are no [`HealthRule`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidRule {
    /// More of a burst must fail than it has probes.
    #[error("`failures` is 0 to `burst`")]
    Failures,
    /// More good probes required than the window holds, or none.
    #[error("`required` is 1 to `window`")]
    Required,
    /// A burst of no probes, or of too many.
    #[error("`burst` is 1 to 127")]
    Retries,
    /// The window holds nothing or too much.
    #[error("`window` is 1 to 255")]
    Window,
}

impl HealthRule {
    /// 2 of the last 4 (D6).
    pub const DEFAULT: Self = Self::Window(WindowRule::DEFAULT);

    /// `required` of the last `window`, which is 1 to 255.
    pub fn window(window: i64, required: i64) -> Result<Self, InvalidRule> {
        WindowRule::new(window, required).map(Self::Window)
    }
}

impl ConsecutiveRule {
    /// Three failures are tolerated, one good probe heals (D27, D29).
    pub const DEFAULT: Self = Self {
        fall: count(4),
        rise: count(1),
    };
}

impl LeakyRule {
    /// As in gdnsd (D104).
    pub const DEFAULT: Self = Self {
        down: count(10),
        ok: count(10),
        up: count(20),
    };
}

const fn count(number: u8) -> NonZeroU8 {
    NonZeroU8::MIN.saturating_add(number - 1)
}

impl BurstRule {
    /// All of 3, and one good probe heals (D97).
    pub const DEFAULT: Self = Self {
        retries: 3,
        failures: 0,
        rise: count(1),
    };
    /// Most probes of a burst (D97).
    pub const MOST_RETRIES: u8 = 127;

    /// Down when `failures` of a burst of `retries` probes are bad, 0 for all; up after `rise` good ones
    /// in a row.
    pub fn new(retries: u8, failures: u8, rise: NonZeroU8) -> Result<Self, InvalidRule> {
        if !(1..=Self::MOST_RETRIES).contains(&retries) {
            return Err(InvalidRule::Retries);
        }
        if failures > retries {
            return Err(InvalidRule::Failures);
        }
        Ok(Self {
            retries,
            failures,
            rise,
        })
    }

    /// How many probes a burst has.
    pub fn retries(self) -> u8 {
        self.retries
    }

    /// How many of them must be bad.
    pub fn failures(self) -> u8 {
        match self.failures {
            0 => self.retries,
            failures => failures,
        }
    }

    /// How many good probes in a row bring it up again.
    pub fn rise(self) -> NonZeroU8 {
        self.rise
    }
}

impl WindowRule {
    /// 2 of the last 4 (D6).
    pub const DEFAULT: Self = Self {
        window: 4,
        required: 2,
    };

    /// `required` of the last `window`, which is 1 to 255.
    pub fn new(window: i64, required: i64) -> Result<Self, InvalidRule> {
        let within = |value: i64, most: u8| {
            let value = u8::try_from(value).ok();
            value.filter(|value| (1..=most).contains(value))
        };
        let window = within(window, u8::MAX).ok_or(InvalidRule::Window)?;
        let required = within(required, window).ok_or(InvalidRule::Required)?;
        Ok(Self { window, required })
    }

    /// How many probes are looked at.
    pub fn window(self) -> usize {
        usize::from(self.window)
    }

    /// How many of them must be good.
    pub fn required(self) -> usize {
        usize::from(self.required)
    }
}

impl fmt::Display for HealthRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Burst(rule) => {
                let (failures, retries, rise) = (rule.failures(), rule.retries(), rule.rise());
                write!(
                    f,
                    "down at {failures} failures in a burst of {retries}, up at {rise} good in a row"
                )
            }
            Self::Consecutive(ConsecutiveRule { fall, rise }) => {
                write!(
                    f,
                    "down at {fall} failures in a row, up at {rise} good in a row"
                )
            }
            Self::Leaky(LeakyRule { down, ok, up }) => write!(
                f,
                "down at {down} failures, cleared by {ok} good in a row, up at {up} good in a row"
            ),
            Self::Window(rule) => write!(f, "{} of {}", rule.required(), rule.window()),
        }
    }
}

/// A [`BurstRule`] in the words of the configuration.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Burst {
    burst: u8,
    failures: u8,
    rise: NonZeroU8,
}

impl TryFrom<Burst> for BurstRule {
    type Error = InvalidRule;

    fn try_from(rule: Burst) -> Result<Self, InvalidRule> {
        Self::new(rule.burst, rule.failures, rule.rise)
    }
}

impl From<BurstRule> for Burst {
    fn from(rule: BurstRule) -> Self {
        Self {
            burst: rule.retries,
            failures: rule.failures,
            rise: rule.rise,
        }
    }
}
