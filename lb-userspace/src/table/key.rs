use lb_common::HashKey;
use sha2::{Digest, Sha256};

/// The key of the ring hash that the setting `ring_key` stands for: its coefficients are the
/// blocks SHA-256(domain, text, block number), the same numbers on every host.
pub fn ring_key(text: &str) -> HashKey {
    const BLOCK: usize = 32;
    let mut bytes = [0; HashKey::BYTES];
    for (number, block) in (0u32..).zip(bytes.chunks_exact_mut(BLOCK)) {
        let digest = Sha256::new()
            .chain_update("waggle ring key")
            .chain_update(text)
            .chain_update(number.to_be_bytes())
            .finalize();
        block.copy_from_slice(&digest);
    }
    let (words, _) = bytes.as_chunks_mut();
    for word in words {
        *word = u64::from_be_bytes(*word).to_ne_bytes();
    }
    HashKey::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use lb_common::{Address, Ports, Protocol, Tuple};

    use super::*;

    /// A change of these values sends flows elsewhere while a fleet is upgraded.
    #[test]
    fn the_key_of_a_text_is_the_same_on_every_host_and_in_every_version() {
        let key = ring_key("waggle");
        let hash = |client, service| {
            let tuple = Tuple {
                client,
                service,
                ports: Ports::of_word(3),
                protocol: Protocol(255),
            };
            tuple.hash(&key)
        };
        let v4 = [1, 2].map(Address::of_v4_word);
        let v6 = [[1, 2, 3, 4], [5, 6, 7, 8]].map(Address::of_words);
        assert_eq!(hash(v4[0], v4[1]), 0xcc24_a1e2);
        assert_eq!(hash(v6[0], v6[1]), 0xc382_691e);
    }

    #[test]
    fn different_texts_are_different_keys() {
        assert_ne!(ring_key("waggle"), ring_key("waggle "));
        assert_ne!(ring_key(""), ring_key("\0"));
    }
}
