//! Observations by number: each distinct image is looked at once, however often it is seen again.
//!
//! A key names an image exactly. An album gives each image a number; where images are shared by orbits, a turned
//! copy is its orbit's image and the element that turns it (the representative of an orbit is its smallest key, so
//! nothing depends on what was seen before). Collating a batch from numbers needs no hashing and no painting twice.

use crate::batch::{Batch, Images, Sharing};
use crate::error::{Error, Result};
use equimarl_group::Element;
use equimarl_kernels::dictionary::{Atlas, Book, Plan};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// What an agent sees: an image of an album, turned by an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// The image's number.
    pub image: u32,
    /// The element that turns it into what is seen.
    pub element: u32,
}

/// The most keys that are remembered, and the most windows that images are made of (some 400 bytes each, and lists that
/// grow by doubling: a rollout's worth below 32,768). What is forgotten is only looked at again.
const MOST_KEYS: usize = 1 << 12;
const MOST_WINDOWS: usize = 28_000;

/// All images that were seen.
#[derive(Debug)]
pub struct Album<K> {
    sharing: Sharing,
    pixels: usize,
    known: HashMap<K, Observation>,
    keys: Vec<K>,
    /// The place of each image in the batch that is being collated, and which batch that is.
    places: Vec<(u64, u32)>,
    dictionary: Option<Parts>,
}

/// What images are made of.
#[derive(Debug)]
struct Parts {
    plan: Arc<Plan>,
    atlas: Atlas,
    /// The windows of each image, one after the other; those of images that no batch asked for are missing.
    codes: Vec<u32>,
    looked: Vec<bool>,
    painted: Vec<f32>,
}

impl Parts {
    fn new(plan: &Arc<Plan>) -> Parts {
        let painted = vec![0.0; plan.picture_len()];
        Parts { atlas: Atlas::new(plan), codes: vec![], looked: vec![], painted, plan: plan.clone() }
    }

    /// Looks at an image, which `paint` paints, unless it was looked at before.
    fn look(&mut self, image: usize, paint: impl FnOnce(&mut [f32])) -> Result<()> {
        let count = self.plan.positions();
        if self.looked.len() <= image {
            self.looked.resize(image + 1, false);
            self.codes.resize((image + 1) * count, 0);
        }
        let codes = &mut self.codes[image * count..][..count];
        if !self.looked[image] {
            paint(&mut self.painted);
            self.atlas.look(&self.painted, codes)?;
            self.looked[image] = true;
        }
        Ok(())
    }

    /// The windows of an image that was looked at.
    fn windows(&self, image: usize) -> &[u32] {
        let count = self.plan.positions();
        &self.codes[image * count..][..count]
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

/// Adds an image to the book of a batch, and gives its place.
fn add_to_book(plan: &Plan, atlas: &Atlas, codes: &[u32], images: &mut Images) -> Result<u32> {
    match images {
        Images::Book(book) => Ok(book.add(atlas, codes)?),
        Images::Pixels(pixels) if pixels.is_empty() => {
            let mut book = Book::new(plan);
            let place = book.add(atlas, codes)?;
            *images = Images::Book(Box::new(book));
            Ok(place)
        }
        Images::Pixels(_) => Err(Error::BadBatch("the batch holds pixels, not parts of pictures".into())),
    }
}

impl<K: Clone + Ord + Hash> Album<K> {
    /// An empty album of images of `pixels` numbers.
    pub fn new(sharing: Sharing, pixels: usize) -> Album<K> {
        Album { sharing, pixels, known: HashMap::new(), keys: vec![], places: vec![], dictionary: None }
    }

    /// Batches get the parts of images instead of pixels.
    pub fn with_dictionary(mut self, plan: &Arc<Plan>) -> Album<K> {
        self.dictionary = Some(Parts::new(plan));
        self
    }

    /// How images are shared.
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

    /// The number of what `key` names; `turn(g, key)` is the key of the image turned by g.
    pub fn look(&mut self, key: &K, turn: impl Fn(Element, &K) -> K) -> Observation {
        if let Some(seen) = self.known.get(key) {
            return *seen;
        }
        let (smallest, element) = self.sharing.representative(key, turn);
        let next = self.keys.len() as u32;
        let image = self.known.get(&smallest).map_or(next, |seen| seen.image);
        if image == next {
            self.keys.push(smallest.clone());
            self.places.push((0, 0));
            self.known.insert(smallest, Observation { image, element: 0 });
        }
        let seen = Observation { image, element: element as u32 };
        self.known.entry(key.clone()).or_insert(seen);
        seen
    }

    /// What is seen after turning by g.
    pub fn turned(&mut self, seen: Observation, g: Element, turn: impl Fn(Element, &K) -> K) -> Observation {
        if let Sharing::Orbits(group) = &self.sharing {
            let element = group.mul(g, seen.element as Element) as u32;
            return Observation { image: seen.image, element };
        }
        let key = turn(g, &self.keys[seen.image as usize]);
        self.look(&key, turn)
    }

    /// Adds a row to a batch that holds images of this album and no others; `paint` paints a key over the whole of a
    /// buffer.
    ///
    /// # Errors
    /// If the batch holds other images, or too many.
    pub fn add(
        &mut self,
        seen: Observation,
        batch: &mut Batch,
        paint: impl FnOnce(&K, &mut [f32]),
    ) -> Result<()> {
        let (image, stamp) = (seen.image as usize, batch.stamp());
        let key = &self.keys[image];
        if self.sharing == Sharing::None || self.places[image].0 != stamp {
            let place = match (&mut self.dictionary, &mut batch.images) {
                (Some(parts), images) => {
                    parts.look(image, |painted| paint(key, painted))?;
                    add_to_book(&parts.plan, &parts.atlas, parts.windows(image), images)?
                }
                (None, Images::Pixels(pixels)) => {
                    let start = pixels.len();
                    pixels.resize(start + self.pixels, 0.0);
                    paint(key, &mut pixels[start..]);
                    (start / self.pixels.max(1)) as u32
                }
                (None, Images::Book(_)) => {
                    return Err(Error::BadBatch(PARTS.into()));
                }
            };
            self.places[image] = (stamp, place);
        }
        batch.ids.push(self.places[image].1);
        batch.elements.push(seen.element);
        Ok(())
    }
}

/// The same for images of whole states, which have no keys: each is looked at when it is seen.
#[derive(Debug)]
pub struct TeamAlbum {
    pixels: usize,
    dictionary: Option<Parts>,
}

impl TeamAlbum {
    /// For images of `pixels` numbers.
    pub fn new(pixels: usize) -> TeamAlbum {
        TeamAlbum { pixels, dictionary: None }
    }

    /// Batches get the parts of images instead of pixels.
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

    /// Looks at an image, and adds its pixels or its parts to a list of all that was seen.
    ///
    /// # Errors
    /// If the image has another size.
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
    /// If the batch holds other images, or too many.
    pub fn add(&self, state: usize, (pixels, codes): (&[f32], &[u32]), batch: &mut Batch) -> Result<()> {
        let place = match (&self.dictionary, &mut batch.images) {
            (Some(parts), images) => {
                let count = parts.plan.positions();
                add_to_book(&parts.plan, &parts.atlas, &codes[state * count..][..count], images)?
            }
            (None, Images::Pixels(all)) => {
                all.extend_from_slice(&pixels[state * self.pixels..][..self.pixels]);
                (all.len() / self.pixels.max(1)) as u32 - 1
            }
            (None, Images::Book(_)) => return Err(Error::BadBatch(PARTS.into())),
        };
        batch.ids.push(place);
        batch.elements.push(0);
        Ok(())
    }
}

const PARTS: &str = "the batch holds parts of images, not pixels";
