//! The name of a list of prompts: SHA-256 over them in order.

use records::digest::sha256_hex;

/// Of token ids: each prompt as decimal numbers with a space between, a NUL after each prompt. `printf '1 2 3\0004\000' | sha256sum`
/// gives that of `[[1, 2, 3], [4]]`.
pub fn of_ids<'a>(prompts: impl IntoIterator<Item = &'a [u32]>) -> String {
    of_bytes(
        prompts
            .into_iter()
            .map(|ids| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ").into_bytes()),
    )
}

/// Of texts: the bytes of each, a NUL after each.
pub fn of_texts<'a>(prompts: impl IntoIterator<Item = &'a str>) -> String {
    of_bytes(prompts.into_iter().map(|text| text.as_bytes().to_vec()))
}

fn of_bytes(prompts: impl IntoIterator<Item = Vec<u8>>) -> String {
    let mut bytes = Vec::new();
    for prompt in prompts {
        bytes.extend(prompt);
        bytes.push(0);
    }
    sha256_hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From coreutils, with the command above.
    #[test]
    fn as_sha256sum_has_it() {
        let prompts: [&[u32]; 2] = [&[1, 2, 3], &[4]];
        assert_eq!(
            of_ids(prompts),
            "5f6f5f200ff2423c5891c219ae9d0b10b7f60d5fb81ac58ea047d1a316a0d75f"
        );
        assert_eq!(of_texts(["1 2 3", "4"]), of_ids(prompts));
        assert_ne!(of_texts(["4", "1 2 3"]), of_ids(prompts), "order counts");
        assert_ne!(of_texts(["1 2", "3", "4"]), of_texts(["1", "2 3", "4"]));
    }
}
