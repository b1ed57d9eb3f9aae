//! Recordings of a sensor.
