use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

/// Whose certificates a TLS probe takes for good.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Trust {
    /// Anyone's: a certificate is not looked at.
    Anyone,
    /// Those that lead to one of these authorities, are for the server's name and are not expired.
    Authorities(Authorities),
}

/// Certificates of authorities.
///
/// They are told apart by where they come from and a digest of them all: they stand in the keys of
/// streams, and a store can have hundreds.
#[derive(Clone)]
pub struct Authorities {
    file: Option<PathBuf>,
    digest: [u8; 32],
    certificates: Arc<[Vec<u8>]>,
}

impl Authorities {
    /// The certificates (DER) that a file holds, or the store of this host where none is named.
    pub fn new(file: Option<&Path>, certificates: Vec<Vec<u8>>) -> Self {
        let mut digest = Sha256::new();
        for certificate in &certificates {
            digest.update((certificate.len() as u64).to_be_bytes());
            digest.update(certificate);
        }
        Self {
            file: file.map(Path::to_owned),
            digest: digest.finalize().into(),
            certificates: certificates.into(),
        }
    }

    /// The file that they come from; none for the store of this host.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The certificates, each in DER.
    pub fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    fn key(&self) -> (&Option<PathBuf>, &[u8; 32]) {
        (&self.file, &self.digest)
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ", self.file)?;
        self.digest
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Authorities {}

impl PartialOrd for Authorities {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Authorities {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Authorities {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_the_same_by_place_and_content() {
        let of = |file: Option<&str>, certificates: &[&str]| {
            let certificates = certificates.iter().map(|it| it.as_bytes().to_vec());
            Authorities::new(file.map(Path::new), certificates.collect())
        };
        let all = [
            of(None, &[]),
            of(None, &["ab"]),
            of(None, &["a", "b"]),
            of(None, &["b", "a"]),
            of(Some("/x"), &["ab"]),
            of(Some("/y"), &["ab"]),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one == other, i == j);
                // What the state directory knows a stream by.
                assert_eq!(format!("{one:?}") == format!("{other:?}"), i == j);
            }
        }
    }
}
