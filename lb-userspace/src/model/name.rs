use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

/// Name of an edge, backend, group or service: 1 to 63 letters, digits, `.`, `_` or `-`, beginning
/// with a letter or digit. It is safe in a file name, a metric label and a terminal.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Name(Arc<str>);

impl Name {
    /// Most bytes of a name.
    pub const MAX: usize = 63;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is no [`Name`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a name is 1 to 63 letters, digits, `.`, `_` or `-` and begins with a letter or digit")]
pub struct InvalidName;

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts && text.len() <= Self::MAX && text.chars().all(plain) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName)
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_name() {
        for good in ["a", "fra-1", "web.eu_2", &"x".repeat(63)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in ["", "-a", ".a", "a b", "a\nb", "a/b", "ä", &"x".repeat(64)] {
            assert_eq!(bad.parse::<Name>(), Err(InvalidName), "{bad:?}");
        }
    }
}
