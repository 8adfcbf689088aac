"""Synthetic weather over Britain, whose variables depend on each other as those of real weather do."""

import numpy as np

from datamodules.era5.synthetic.britain import LATITUDES, LONGITUDES, land_and_height
from datamodules.era5.synthetic.plane_waves import Array, PlaneWaves, noise, smooth
from gpvae.utils.sun import mean_cos_zenith

GRAVITY, GAS_CONSTANT, AIR_DENSITY, STEFAN_BOLTZMANN = 9.81, 287.0, 1.25, 5.67e-8
SOLAR_CONSTANT = 1361.0

# Most of the variance of real pressure, and half that of temperature and wind, is at periods of a week or longer (ERA5
# at London, winter of 2020), so the slow waves outweigh the moving ones.
MOVING, SLOW = 0.63, 1.19
PRESSURE_MOVING = PlaneWaves(1, 24, (2000, 6000))
PRESSURE_SLOW = PlaneWaves(2, 16, (3000, 8000), (4, 16))
AIR_MASS = PlaneWaves(3, 24, (2000, 7000), (5, 25))
HUMIDITY = PlaneWaves(4, 24, (700, 3000), (5, 40))
FRONTS = PlaneWaves(5, 32, (350, 1300))
SHOWERS = PlaneWaves(6, 60, (100, 350))
LOW_CLOUDS = PlaneWaves(7, 40, (200, 900))
GUSTS_EAST = PlaneWaves(8, 40, (150, 600))
GUSTS_NORTH = PlaneWaves(9, 40, (150, 600))
COLD_ALOFT = PlaneWaves(10, 20, (600, 2500))


def make_weather(start: np.datetime64, num_hours: int) -> dict[str, Array]:
    """Fields by short name, each `[T, 10, 12]`, in the units of ERA5; a longer period begins with the shorter.

    Args:
        start: The first hour.
        num_hours: T, the number of hours.
    """
    hours = np.arange(num_hours, dtype=np.float64)
    times = start.astype("datetime64[h]") + np.arange(num_hours)
    land, height = (part.reshape(-1).astype(np.float64) for part in land_and_height())
    latitude, longitude = (part.reshape(-1) for part in np.meshgrid(LATITUDES, LONGITUDES, indexing="ij"))
    here = (hours, 111.2 * (longitude + 2.5) * np.cos(np.radians(54.5)), 111.2 * (latitude - 54.5))  # km
    rough = [noise(key, num_hours, len(land)) for key in range(100, 106)]

    # Pressure: highs and lows that move east, on a slope towards Iceland that makes the west wind.
    anomaly = MOVING * PRESSURE_MOVING.at(*here) + SLOW * PRESSURE_SLOW.at(*here)
    msl = 101_200 + 850 * anomaly - 0.8 * here[2]
    slopes = zip(PRESSURE_MOVING.gradient(*here), PRESSURE_SLOW.gradient(*here), strict=True)
    east, north = (850e-3 * (MOVING * moving + SLOW * slow) for moving, slow in slopes)  # Pa per m
    coriolis = 2 * 7.292e-5 * np.sin(np.radians(latitude)) * AIR_DENSITY
    geostrophic_u, geostrophic_v = -(north - 0.8e-3) / coriolis, east / coriolis

    # Clouds and rain go with lows and fronts. Clouds attenuate the sunshine.
    front = FRONTS.at(*here)
    moist = 0.6 * HUMIDITY.at(*here) - 0.5 * anomaly + 0.4 * front
    tcc = np.clip(0.62 + 0.33 * (0.9 * moist + 0.6 * front) + 0.12 * SHOWERS.at(*here) + 0.05 * rough[0], 0, 1)
    lcc = tcc * np.clip(0.55 + 0.35 * LOW_CLOUDS.at(*here) + 0.15 * moist + 0.05 * rough[1], 0, 1)
    lift = 0.8 * front - 0.5 * anomaly + 0.5 * SHOWERS.at(*here) + 0.1 * rough[2] + 0.001 * height
    rain = 0.9 * np.maximum(lift - 0.85, 0) ** 1.4  # mm in the hour
    cosine = mean_cos_zenith(times, latitude, longitude)
    sunshine = SOLAR_CONSTANT * 0.76 * cosine**1.15 * (1 - 0.72 * tcc**2.5)  # W/m²

    # Temperature: air masses on southerlies and northerlies, warmed by sun and cooled by clear nights over land.
    year = 2 * np.pi * ((times - times.astype("datetime64[Y]")) / np.timedelta64(1, "h") / 24 - 30)[:, None] / 365.25
    sea = 283.4 - 2.5 * np.cos(year - 0.6) - 0.35 * (latitude - 54.5)
    masses = 2.0 * AIR_MASS.at(*here) + 0.22 * geostrophic_v + 0.06 * geostrophic_u
    air = 283.0 - 6.0 * np.cos(year) - 0.45 * (latitude - 54.5) + masses
    air = land * (air - 0.0065 * height) + (1 - land) * (0.35 * air + 0.65 * sea)
    net = 0.8 * sunshine - 75 * (1 - 0.75 * tcc)
    t2m = air + (0.1 + 0.9 * land) * 0.022 * smooth(net, 3.0) + 0.1 * rough[3]
    skt = land * (t2m + 0.02 * smooth(net, 1.0)) + (1 - land) * sea

    # Moisture: the dew point is that of the air mass, and at most the air temperature.
    vapour = (0.6 + 0.38 / (1 + np.exp(-0.8 - 1.2 * moist))) * _saturation(air)
    d2m = np.minimum(_dew_point(vapour), t2m - 0.05)
    vapour = _saturation(d2m)
    tcwv = 1.9 * vapour * np.exp(0.15 * HUMIDITY.at(*here))

    # Wind: geostrophic, slowed and turned towards the low by the ground, more so over land.
    turn, slowed = np.radians(15 + 12 * land), 0.72 - 0.25 * land
    u10 = slowed * (np.cos(turn) * geostrophic_u - np.sin(turn) * geostrophic_v) + 0.8 * GUSTS_EAST.at(*here)
    v10 = slowed * (np.sin(turn) * geostrophic_u + np.cos(turn) * geostrophic_v) + 0.8 * GUSTS_NORTH.at(*here)
    speed = np.hypot(u10, v10)
    i10fg = (1.3 + 0.3 * land) * speed + 1.0 + 0.6 * np.abs(rough[4]) + 1.5 * np.sqrt(rain)
    before = np.concatenate([i10fg[:1], i10fg[:-1]])
    heating = land * np.maximum(smooth(net, 2.0), 0) + 15 * np.maximum(skt - t2m, 0)
    blh = (80 + 45 * speed**1.1 + 2.5 * heating) * np.exp(0.15 * rough[5])
    cape = 70 * np.maximum(0.3 * (skt - air) + 0.8 * COLD_ALOFT.at(*here) + 0.5 * moist - 0.4, 0) ** 2

    clear = 0.52 + 0.065 * np.sqrt(vapour)  # emissivity of a clear sky (Brunt)
    thermal = (clear + (1 - clear) * 0.85 * tcc) * STEFAN_BOLTZMANN * t2m**4
    fields = {
        "t2m": t2m, "d2m": d2m, "u10": u10, "v10": v10, "i10fg": i10fg, "msl": msl,
        "sp": msl * np.exp(-GRAVITY * height / (GAS_CONSTANT * (t2m + 0.00325 * height))),
        "tp": rain / 1000, "tcc": tcc, "lcc": lcc, "tcwv": tcwv, "blh": blh, "cape": cape,
        "ssrd": 3600 * sunshine, "strd": 3600 * thermal, "skt": skt, "swvl1": land * _soil_water(rain, sunshine),
        "fg10": np.maximum(i10fg, before) + 0.2, "lsm": np.broadcast_to(land, t2m.shape),
    }  # fmt: skip
    return {name: field.reshape(num_hours, len(LATITUDES), len(LONGITUDES)) for name, field in fields.items()}


def _saturation(temperature: Array) -> Array:
    """Vapour pressure at saturation in hPa, from K (Magnus)."""
    celsius = temperature - 273.15
    return 6.112 * np.exp(17.62 * celsius / (243.12 + celsius))


def _dew_point(vapour: Array) -> Array:
    """The temperature in K at which a vapour pressure in hPa is saturation."""
    ratio = np.log(vapour / 6.112)
    return 273.15 + 243.12 * ratio / (17.62 - ratio)


def _soil_water(rain: Array, sunshine: Array) -> Array:
    """A layer of 7 cm that rain fills, and that drains and dries."""
    water, level = np.empty_like(rain), np.full(rain.shape[1:], 0.36)
    for hour in range(len(rain)):
        level = level + rain[hour] / 70 - 0.012 * np.maximum(level - 0.32, 0) - 4e-7 * sunshine[hour] - 2e-5
        level = np.clip(level, 0.10, 0.46)
        water[hour] = level
    return water
