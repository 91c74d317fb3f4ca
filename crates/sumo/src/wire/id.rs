//! Ids of commands and variables, as in SUMO's `constants.py`.

/// Who is there.
pub const VERSION: u8 = 0x00;
/// Go on to a time.
pub const STEP: u8 = 0x02;
/// The end.
pub const CLOSE: u8 = 0x7f;
/// Ask for something about the simulation.
pub const ASK_SIMULATION: u8 = 0xab;
/// An option that SUMO was started with.
pub const OPTION: u8 = 0x32;
/// Set something about a light.
pub const SET_LIGHT: u8 = 0xc2;
/// Tell the variables of a light after every step.
pub const WATCH_LIGHT: u8 = 0xd2;
/// Tell the variables of the simulation after every step.
pub const WATCH_SIMULATION: u8 = 0xdb;
/// Tell the variables of everything around a junction after every step.
pub const WATCH_AROUND_JUNCTION: u8 = 0x89;
/// What is told of a light.
pub const TOLD_LIGHT: u8 = 0xe2;
/// What is told of the simulation.
pub const TOLD_SIMULATION: u8 = 0xeb;
/// What is told of everything around a junction.
pub const TOLD_AROUND_JUNCTION: u8 = 0x99;
/// Vehicles, as what may be around something.
pub const VEHICLES: u8 = 0xa4;
/// The state of a light, one letter per link.
pub const STATE: u8 = 0x20;
/// The number of a light's phase.
pub const PHASE: u8 = 0x22;
/// The program of a light, by name.
pub const PROGRAM: u8 = 0x23;
/// The program of a light, all of it.
pub const WHOLE_PROGRAM: u8 = 0x2c;
/// Vehicles that could not enter yet.
pub const PENDING: u8 = 0x94;
/// The speed of a vehicle.
pub const SPEED: u8 = 0x40;
/// Where a vehicle is.
pub const POSITION: u8 = 0x42;
/// Its lane.
pub const LANE: u8 = 0x51;
/// How far along its lane it is.
pub const LANE_POSITION: u8 = 0x56;
/// For how long it has stood still.
pub const WAITING: u8 = 0x7a;
