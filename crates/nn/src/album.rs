//! Observations by number: each distinct picture is looked at once, however often it is seen again.
//!
//! A key names a picture exactly. An album gives each picture a number; where pictures are shared by orbits, a turned
//! copy is its orbit's picture and the element that turns it (the representative of an orbit is its smallest key, so
//! nothing depends on what was seen before). Collating a batch from numbers needs no hashing and no painting twice.

use crate::batch::{Batch, Pictures, Sharing};
use crate::error::{Error, Result};
use equimarl_group::Element;
use equimarl_kernels::dictionary::{Atlas, Book, Plan};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// What an agent sees: a picture of an album, turned by an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The picture's number.
    pub picture: u32,
    /// The element that turns it into what is seen.
    pub element: u32,
}

/// The most keys that are remembered, and the most windows that pictures are made of (some 400 bytes each, and lists that
/// grow by doubling: a rollout's worth below 32,768). What is forgotten is only looked at again.
const MOST_KEYS: usize = 1 << 12;
const MOST_WINDOWS: usize = 28_000;

/// All pictures that were seen.
#[derive(Debug)]
pub struct Album<K> {
    sharing: Sharing,
    pixels: usize,
    known: HashMap<K, Seen>,
    keys: Vec<K>,
    /// The place of each picture in the batch that is being collated, and which batch that is.
    places: Vec<(u64, u32)>,
    dictionary: Option<Parts>,
}

/// What pictures are made of.
#[derive(Debug)]
struct Parts {
    plan: Arc<Plan>,
    atlas: Atlas,
    /// The windows of each picture, one after the other; those of pictures that no batch asked for are missing.
    codes: Vec<u32>,
    looked: Vec<bool>,
    painted: Vec<f32>,
}

impl Parts {
    fn new(plan: &Arc<Plan>) -> Parts {
        let painted = vec![0.0; plan.picture_len()];
        Parts { atlas: Atlas::new(plan), codes: vec![], looked: vec![], painted, plan: plan.clone() }
    }

    /// Looks at a picture, which `paint` paints, unless it was looked at before.
    fn look(&mut self, picture: usize, paint: impl FnOnce(&mut [f32])) -> Result<()> {
        let count = self.plan.positions();
        if self.looked.len() <= picture {
            self.looked.resize(picture + 1, false);
            self.codes.resize((picture + 1) * count, 0);
        }
        let codes = &mut self.codes[picture * count..][..count];
        if !self.looked[picture] {
            paint(&mut self.painted);
            self.atlas.look(&self.painted, codes)?;
            self.looked[picture] = true;
        }
        Ok(())
    }

    /// The windows of a picture that was looked at.
    fn windows(&self, picture: usize) -> &[u32] {
        let count = self.plan.positions();
        &self.codes[picture * count..][..count]
    }

    fn forget_pictures(&mut self) {
        self.codes.clear();
        self.looked.clear();
        if self.is_full() {
            self.atlas.clear();
        }
    }

    fn is_full(&self) -> bool {
        self.atlas.windows() >= MOST_WINDOWS
    }
}

/// Adds a picture to the book of a batch, and gives its place.
fn add_to_book(plan: &Plan, atlas: &Atlas, codes: &[u32], pictures: &mut Pictures) -> Result<u32> {
    match pictures {
        Pictures::Book(book) => Ok(book.add(atlas, codes)?),
        Pictures::Pixels(pixels) if pixels.is_empty() => {
            let mut book = Book::new(plan);
            let place = book.add(atlas, codes)?;
            *pictures = Pictures::Book(Box::new(book));
            Ok(place)
        }
        Pictures::Pixels(_) => Err(Error::BadBatch("the batch holds pixels, not parts of pictures".into())),
    }
}

impl<K: Clone + Ord + Hash> Album<K> {
    /// An empty album of pictures of `pixels` numbers.
    pub fn new(sharing: Sharing, pixels: usize) -> Album<K> {
        Album { sharing, pixels, known: HashMap::new(), keys: vec![], places: vec![], dictionary: None }
    }

    /// Batches get the parts of pictures instead of pixels.
    pub fn with_dictionary(mut self, plan: &Arc<Plan>) -> Album<K> {
        self.dictionary = Some(Parts::new(plan));
        self
    }

    /// How pictures are shared.
    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Whether it has grown so large that it should be cleared when nothing refers to it.
    pub fn is_full(&self) -> bool {
        self.known.len() >= MOST_KEYS || self.dictionary.as_ref().is_some_and(Parts::is_full)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.known.clear();
        self.keys.clear();
        self.places.clear();
        if let Some(parts) = &mut self.dictionary {
            parts.forget_pictures();
        }
    }

    /// The number of what `key` names; `turn(g, key)` is the key of the picture turned by g.
    pub fn look(&mut self, key: &K, turn: impl Fn(Element, &K) -> K) -> Seen {
        if let Some(seen) = self.known.get(key) {
            return *seen;
        }
        let (smallest, element) = self.sharing.representative(key, turn);
        let next = self.keys.len() as u32;
        let picture = self.known.get(&smallest).map_or(next, |seen| seen.picture);
        if picture == next {
            self.keys.push(smallest.clone());
            self.places.push((0, 0));
            self.known.insert(smallest, Seen { picture, element: 0 });
        }
        let seen = Seen { picture, element: element as u32 };
        self.known.entry(key.clone()).or_insert(seen);
        seen
    }

    /// What is seen after turning by g.
    pub fn turned(&mut self, seen: Seen, g: Element, turn: impl Fn(Element, &K) -> K) -> Seen {
        if let Sharing::Orbits(group) = &self.sharing {
            let element = group.mul(g, seen.element as Element) as u32;
            return Seen { picture: seen.picture, element };
        }
        let key = turn(g, &self.keys[seen.picture as usize]);
        self.look(&key, turn)
    }

    /// Adds a row to a batch that holds pictures of this album and no others; `paint` paints a key over the whole of a
    /// buffer.
    ///
    /// # Errors
    /// If the batch holds other pictures, or too many.
    pub fn add(&mut self, seen: Seen, batch: &mut Batch, paint: impl FnOnce(&K, &mut [f32])) -> Result<()> {
        let (picture, stamp) = (seen.picture as usize, batch.stamp());
        let key = &self.keys[picture];
        if self.sharing == Sharing::None || self.places[picture].0 != stamp {
            let place = match (&mut self.dictionary, &mut batch.pictures) {
                (Some(parts), pictures) => {
                    parts.look(picture, |painted| paint(key, painted))?;
                    add_to_book(&parts.plan, &parts.atlas, parts.windows(picture), pictures)?
                }
                (None, Pictures::Pixels(pixels)) => {
                    let start = pixels.len();
                    pixels.resize(start + self.pixels, 0.0);
                    paint(key, &mut pixels[start..]);
                    (start / self.pixels.max(1)) as u32
                }
                (None, Pictures::Book(_)) => {
                    return Err(Error::BadBatch(PARTS.into()));
                }
            };
            self.places[picture] = (stamp, place);
        }
        batch.ids.push(self.places[picture].1);
        batch.elements.push(seen.element);
        Ok(())
    }
}

/// The same for pictures of whole states, which have no keys: each is looked at when it is seen.
#[derive(Debug)]
pub struct TeamAlbum {
    pixels: usize,
    dictionary: Option<Parts>,
}

impl TeamAlbum {
    /// For pictures of `pixels` numbers.
    pub fn new(pixels: usize) -> TeamAlbum {
        TeamAlbum { pixels, dictionary: None }
    }

    /// Batches get the parts of pictures instead of pixels.
    pub fn use_dictionary(&mut self, plan: &Arc<Plan>) {
        self.dictionary = Some(Parts::new(plan));
    }

    /// Whether it has grown so large that it should be cleared when nothing refers to it.
    pub fn is_full(&self) -> bool {
        self.dictionary.as_ref().is_some_and(Parts::is_full)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if let Some(parts) = &mut self.dictionary {
            parts.atlas.clear();
        }
    }

    /// Looks at a picture, and adds its pixels or its parts to a list of all that was seen.
    ///
    /// # Errors
    /// If the picture has another size.
    pub fn see(
        &mut self,
        paint: impl FnOnce(&mut [f32]),
        pixels: &mut Vec<f32>,
        codes: &mut Vec<u32>,
    ) -> Result<()> {
        match &mut self.dictionary {
            Some(parts) => {
                paint(&mut parts.painted);
                let start = codes.len();
                codes.resize(start + parts.plan.positions(), 0);
                parts.atlas.look(&parts.painted, &mut codes[start..])?;
            }
            None => {
                let start = pixels.len();
                pixels.resize(start + self.pixels, 0.0);
                paint(&mut pixels[start..]);
            }
        }
        Ok(())
    }

    /// Adds the row of a state to a batch, from the lists that [`TeamAlbum::see`] made.
    ///
    /// # Errors
    /// If the batch holds other pictures, or too many.
    pub fn add(&self, state: usize, (pixels, codes): (&[f32], &[u32]), batch: &mut Batch) -> Result<()> {
        let place = match (&self.dictionary, &mut batch.pictures) {
            (Some(parts), pictures) => {
                let count = parts.plan.positions();
                add_to_book(&parts.plan, &parts.atlas, &codes[state * count..][..count], pictures)?
            }
            (None, Pictures::Pixels(all)) => {
                all.extend_from_slice(&pixels[state * self.pixels..][..self.pixels]);
                (all.len() / self.pixels.max(1)) as u32 - 1
            }
            (None, Pictures::Book(_)) => return Err(Error::BadBatch(PARTS.into())),
        };
        batch.ids.push(place);
        batch.elements.push(0);
        Ok(())
    }
}

const PARTS: &str = "the batch holds parts of pictures, not pixels";
