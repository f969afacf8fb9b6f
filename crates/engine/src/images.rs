//! Images that go with a message, checked before they are kept.

use contract::{
    command::{LINKED_IMAGE, SentImage},
    error::{AppError, ErrorCode},
};
use url::Url;

/// Bytes of one image at most.
const MOST_BYTES: usize = 5 * 1024 * 1024;

/// Images of one message at most.
const MOST_IMAGES: usize = 20;

/// The kinds servers take.
const KINDS: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The longest address of an image that lies elsewhere, in bytes.
const MOST_ADDRESS: usize = 4_096;

/// Checks kinds and sizes. `links`: images that lie elsewhere are taken, too.
///
/// # Errors
/// `InvalidInput` or `TooLarge`, with what to change.
pub fn check(images: &[SentImage], links: bool) -> Result<(), AppError> {
    if images.len() > MOST_IMAGES {
        return Err(AppError::new(ErrorCode::InvalidInput, "At most 20 images can go with a message."));
    }
    for image in images {
        if links && image.media_type == LINKED_IMAGE {
            check_address(&image.data)?;
            continue;
        }
        if !KINDS.contains(&image.media_type.as_str()) {
            return Err(AppError::new(ErrorCode::InvalidInput, "Only PNG, JPEG, GIF and WebP images can be sent."));
        }
        let Some(bytes) = decoded_len(&image.data) else {
            return Err(AppError::new(ErrorCode::InvalidInput, "An image could not be read. Choose it again."));
        };
        if bytes > MOST_BYTES {
            return Err(AppError::new(ErrorCode::TooLarge, "An image may have at most 5 MiB. Choose a smaller one."));
        }
    }
    Ok(())
}

fn check_address(address: &str) -> Result<(), AppError> {
    let is_https = address.len() <= MOST_ADDRESS && Url::parse(address).is_ok_and(|url| url.scheme() == "https");
    if is_https {
        return Ok(());
    }
    Err(AppError::new(ErrorCode::InvalidInput, "An image that lies elsewhere needs an address that begins with https."))
}

/// Bytes that base64 text stands for; `None` where it is none.
fn decoded_len(text: &str) -> Option<usize> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let plain = body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    (!text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && plain).then(|| text.len() / 4 * 3 - padding)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn image(media_type: &str, data: &str) -> SentImage {
        SentImage { media_type: media_type.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn the_size_of_an_image_is_that_of_its_bytes() {
        assert_eq!(decoded_len("aGk="), Some(2));
        assert_eq!(decoded_len("aGkh"), Some(3));
        for bad in ["", "aGk", "a===", "aG k", "aG-_", "=aGk"] {
            assert_eq!(decoded_len(bad), None, "{bad}");
        }
        let cap = "A".repeat(MOST_BYTES.div_ceil(3) * 4);
        assert_eq!(check(&[image("image/png", &cap)], true).unwrap_err().code, ErrorCode::TooLarge);
    }

    #[test]
    fn only_what_servers_take_is_sent() {
        assert_eq!(check(&[image("image/png", "aGk="), image("image/webp", "aGkh")], false), Ok(()));
        for bad in [image("image/svg+xml", "aGk="), image("image/png", "not base64")] {
            assert_eq!(check(&[bad], true).unwrap_err().code, ErrorCode::InvalidInput);
        }
    }

    #[test]
    fn an_image_that_lies_elsewhere_is_named_by_its_https_address_where_the_server_takes_such() {
        let link = |address: &str| image(LINKED_IMAGE, address);
        assert_eq!(check(&[link("https://example.com/a.png")], true), Ok(()));
        assert_eq!(check(&[link("https://example.com/a.png")], false).unwrap_err().code, ErrorCode::InvalidInput);
        let long = format!("https://example.com/{}", "a".repeat(MOST_ADDRESS));
        for bad in ["http://example.com/a.png", "data:image/png;base64,aGk=", "file:///a.png", "", long.as_str()] {
            assert_eq!(check(&[link(bad)], true).unwrap_err().code, ErrorCode::InvalidInput, "{bad}");
        }
    }
}
