//! Join tokens: where to dial, which key answers there, and a secret that is good for one node.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headrace_core::sealed::PublicKey;
use serde::{Deserialize, Serialize};

use crate::problem::{ControlCode, Problem};

/// A join token. Its debug form hides the secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinToken {
    /// host:port of the hub.
    #[serde(rename = "a")]
    pub address: String,
    /// The hub's key.
    #[serde(rename = "k")]
    pub key: PublicKey,
    /// Proves that the hub's service invited this node.
    #[serde(rename = "s")]
    pub secret: String,
}

const PREFIX: &str = "hrj_";
const MAX_BYTES: usize = 2048;

impl fmt::Display for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_vec(self).map_err(|_| fmt::Error)?;
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
    }
}

impl fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinToken")
            .field("address", &self.address)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl FromStr for JoinToken {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let malformed = || {
            let message = "this is not a join token: copy all of it, it starts with `hrj_`";
            Problem::new(ControlCode::TokenMalformed, message)
        };
        let encoded = text
            .trim()
            .strip_prefix(PREFIX)
            .filter(|rest| rest.len() <= MAX_BYTES)
            .ok_or_else(malformed)?;
        let json = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| malformed())?;
        serde_json::from_slice(&json).map_err(|_| malformed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_being_copied_and_a_part_of_it_does_not() {
        let token = JoinToken {
            address: "dtn.example.org:7443".to_owned(),
            key: PublicKey::from_bytes([7; 32]),
            secret: "s3cret".to_owned(),
        };
        let text = token.to_string();
        assert_eq!(format!(" {text}\n").parse::<JoinToken>(), Ok(token.clone()));
        for end in 0..text.len() {
            assert_eq!(
                text[..end].parse::<JoinToken>().expect_err("refused").code,
                "token_malformed"
            );
        }
        assert!(!format!("{token:?}").contains("s3cret"));
    }
}
