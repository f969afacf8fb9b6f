//! What lies in a process's memory (proc(5): `smaps`, `pagemap`, `mem`). A process may read that of what it started.

use std::{fs::File, os::unix::fs::FileExt};

use anyhow::{Context, Result};
use memchr::memmem;

/// How much is read at a time.
const PIECE: usize = 1024 * 1024;

/// A part of a process's address space.
struct Region {
    begin: u64,
    end: u64,
    name: String,
}

/// Where one of these texts lies in a process's memory, in one byte or two for each character: text and region.
///
/// # Errors
/// Where the process is gone, or may not be read.
pub fn regions_with(id: i32, texts: &[&str]) -> Result<Vec<String>> {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let needles: Vec<(&str, Vec<u8>)> =
        texts.iter().flat_map(|text| [(*text, text.as_bytes().to_vec()), (*text, wide(text))]).collect();
    let open = |name: &str| File::open(format!("/proc/{id}/{name}")).with_context(|| format!("process {id} is closed"));
    let (memory, pages) = (open("mem")?, open("pagemap")?);
    let mut found = Vec::new();
    let mut read = 0;
    for region in regions(id)? {
        read += look_through((&memory, &pages), &region, &needles, &mut found)?;
    }
    anyhow::ensure!(read > PIECE as u64, "only {read} bytes of process {id} could be read");
    Ok(found)
}

/// How many bytes could be read.
fn look_through(
    (memory, pages): (&File, &File),
    region: &Region,
    needles: &[(&str, Vec<u8>)],
    found: &mut Vec<String>,
) -> Result<u64> {
    let overlap = needles.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0);
    let mut piece = vec![0; PIECE + overlap];
    let (mut at, mut read) = (region.begin, 0);
    while at < region.end {
        let wanted = usize::try_from(region.end - at).map_or(piece.len(), |left| left.min(piece.len()));
        // What was unmapped meanwhile, or is no memory but a device's, cannot be read.
        if is_there(pages, at, wanted)? && memory.read_exact_at(&mut piece[..wanted], at).is_ok() {
            read += wanted as u64;
            let held = needles.iter().filter(|(_, bytes)| memmem::find(&piece[..wanted], bytes).is_some());
            found.extend(held.map(|(text, _)| format!("{text} in {:x} {}", region.begin, region.name)));
        }
        at += PIECE as u64;
    }
    Ok(read)
}

/// Whether any page of this part is in memory or swapped out: much is set aside of which nothing was ever used.
fn is_there(pages: &File, at: u64, length: usize) -> Result<bool> {
    let page = rustix::param::page_size();
    let mut entries = vec![0; length.div_ceil(page) * 8];
    pages.read_exact_at(&mut entries, at / page as u64 * 8)?;
    // The two highest bits of each entry.
    Ok(entries.chunks_exact(8).any(|entry| entry[7] & 0b1100_0000 != 0))
}

/// The regions that may be read and were written to: others are set aside for later, or lie in a file as they are.
fn regions(id: i32) -> Result<Vec<Region>> {
    let text = std::fs::read_to_string(format!("/proc/{id}/smaps"))?;
    let mut all: Vec<(Region, bool)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [range, rights, _, _, _, name @ ..] if range.contains('-') && !range.ends_with(':') => {
                let (begin, end) = range.split_once('-').context("no range")?;
                let (begin, end) = (u64::from_str_radix(begin, 16)?, u64::from_str_radix(end, 16)?);
                if rights.starts_with('r') {
                    all.push((Region { begin, end, name: name.join(" ") }, false));
                } else {
                    // Its lines below must not count for the one before it.
                    all.push((Region { begin, end: begin, name: String::new() }, false));
                }
            }
            ["Private_Dirty:" | "Shared_Dirty:" | "Swap:", size, "kB"] if *size != "0" => {
                if let Some((_, is_written)) = all.last_mut() {
                    *is_written = true;
                }
            }
            _ => {}
        }
    }
    Ok(all
        .into_iter()
        .filter(|(region, is_written)| *is_written && region.begin < region.end)
        .map(|(region, _)| region)
        .collect())
}
