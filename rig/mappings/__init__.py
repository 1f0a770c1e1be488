"""How families of rigs name the bones of a hand: pure tables, one file a family."""

from . import makehuman, mixamo, rigify, unreal, vrm, webxr
from .family import Family

FAMILIES: tuple[Family, ...] = tuple(
    family for module in (webxr, makehuman, unreal, rigify, mixamo, vrm) for family in module.FAMILIES
)
