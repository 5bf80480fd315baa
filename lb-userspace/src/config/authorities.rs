use std::{
    cell::RefCell,
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};

use super::report::Wrong;
use crate::{model::Authorities, refusal, whereabouts::Stamp};

/// What a configuration needs of the host that it is for.
#[derive(Clone, Copy)]
pub(super) struct Host<'a> {
    /// Where the configuration is: what relative paths in it begin at.
    pub(super) directory: &'a Path,
    /// Reads a file.
    pub(super) read: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    /// What a file is now; none if there is none.
    pub(super) stamp: &'a dyn Fn(&Path) -> Option<Stamp>,
    /// The certificates (DER) of the authorities that this host trusts.
    pub(super) trusted: &'a dyn Fn() -> Vec<Vec<u8>>,
}

impl Host<'static> {
    /// One that has no file and trusts nobody.
    pub(super) fn empty() -> Self {
        Self {
            directory: Path::new(""),
            read: &|_| Err(io::ErrorKind::NotFound.into()),
            stamp: &|_| None,
            trusted: &Vec::new,
        }
    }
}

/// The authorities that probes trust; each source is read once for a whole configuration.
pub(super) struct Store<'a> {
    host: Host<'a>,
    known: RefCell<BTreeMap<Option<PathBuf>, Result<Authorities, Wrong>>>,
}

impl<'a> Store<'a> {
    pub(super) fn new(host: Host<'a>) -> Self {
        Self {
            host,
            known: RefCell::default(),
        }
    }

    /// The certificates in a PEM file: at least one, all of them whole.
    pub(super) fn file(&self, path: &Path) -> Result<Authorities, Wrong> {
        self.once(Some(path), || {
            let bytes = (self.host.read)(path)
                .map_err(|error| refusal::probe::unreadable_authorities(path.display(), error))?;
            Ok(Authorities::new(Some(path), in_pem(path, &bytes)?))
        })
    }

    /// The certificates that the system of this host trusts.
    pub(super) fn of_this_host(&self) -> Result<Authorities, Wrong> {
        self.once(None, || {
            let certificates = (self.host.trusted)();
            let usable = |der: &Vec<u8>| is_authority(&der.as_slice().into());
            if certificates.iter().any(usable) {
                return Ok(Authorities::new(None, certificates));
            }
            Err(refusal::probe::no_system_authorities())
        })
    }

    fn once(
        &self,
        file: Option<&Path>,
        read: impl FnOnce() -> Result<Authorities, Wrong>,
    ) -> Result<Authorities, Wrong> {
        let mut known = self.known.borrow_mut();
        let known = known.entry(file.map(Path::to_owned));
        known.or_insert_with(read).clone()
    }
}

fn in_pem(path: &Path, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Wrong> {
    let mut certificates = Vec::new();
    for (i, found) in CertificateDer::pem_slice_iter(bytes).enumerate() {
        match found {
            Ok(der) if is_authority(&der) => certificates.push(der.to_vec()),
            Ok(_) | Err(_) => {
                return Err(refusal::probe::broken_certificate(i + 1, path.display()));
            }
        }
    }
    if certificates.is_empty() {
        return Err(refusal::probe::no_certificate(path.display()));
    }
    Ok(certificates)
}

fn is_authority(der: &CertificateDer<'_>) -> bool {
    RootCertStore::empty().add(der.clone().into_owned()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn certificate() -> (Vec<u8>, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::default().self_signed(&key).unwrap();
        (certificate.der().to_vec(), certificate.pem())
    }

    fn none() -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// What is wrong with a file of this content, or how many certificates are in it.
    fn read(content: &[u8]) -> Result<usize, Wrong> {
        let host = Host {
            read: &|_| Ok(content.to_vec()),
            trusted: &none,
            ..Host::empty()
        };
        let read = Store::new(host).file(Path::new("/ca.pem"));
        read.map(|authorities| authorities.certificates().len())
    }

    #[test]
    fn only_whole_certificates_are_taken() {
        let (der, pem) = certificate();
        let key = KeyPair::generate().unwrap().serialize_pem();
        assert_eq!(read(format!("{pem}{pem}").as_bytes()), Ok(2));
        assert_eq!(read(format!("{key}# words\n{pem}").as_bytes()), Ok(1));
        let none = refusal::probe::no_certificate("/ca.pem");
        for content in [&b""[..], b"words\n", &der, key.as_bytes(), b"\xff\x00"] {
            assert_eq!(read(content), Err(none.clone()));
        }
        let cut = &pem[..pem.len() / 2];
        let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for broken in [cut, other, &pem.replace("MII", "!!!")] {
            let wrong = refusal::probe::broken_certificate(2, "/ca.pem");
            assert_eq!(read(format!("{pem}{broken}").as_bytes()), Err(wrong));
        }
    }

    #[test]
    fn each_source_is_read_once() {
        let (der, pem) = certificate();
        let reads = Cell::new(0);
        let count = || reads.set(reads.get() + 1);
        let host = Host {
            read: &|_| {
                count();
                Ok(pem.clone().into_bytes())
            },
            trusted: &|| {
                count();
                vec![der.clone()]
            },
            ..Host::empty()
        };
        let store = Store::new(host);
        for _ in 0..3 {
            assert!(store.file(Path::new("/a")).is_ok() && store.of_this_host().is_ok());
        }
        assert_eq!(reads.get(), 2);
    }

    #[test]
    fn a_host_that_trusts_nobody_is_told_what_to_install() {
        for trusted in [vec![], vec![b"garbage".to_vec()]] {
            let host = Host {
                trusted: &|| trusted.clone(),
                ..Host::empty()
            };
            let wrong = refusal::probe::no_system_authorities();
            assert_eq!(Store::new(host).of_this_host(), Err(wrong));
        }
    }
}
