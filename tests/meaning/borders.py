"""Images, and what a read of one gives, inside and outside (section 5)."""
import numpy as np

from values import Invalid, Pixel, convert


class Image:
    """data: an array, or a Pixel of arrays. form: the kind of statement that made it; name: that of its stage."""

    def __init__(self, data, struct="", form="input", name=""):
        self.data, self.struct, self.form, self.name = data, struct, form, name

    @property
    def shape(self):
        data = self.data
        return next(iter(data.fields.values())).shape if isinstance(data, Pixel) else data.shape

    @property
    def ndim(self):
        return len(self.shape)

    def map(self, function):
        if isinstance(self.data, Pixel):
            return Pixel({name: function(field) for name, field in self.data.fields.items()})
        return function(self.data)


def answered(rule, index, size):
    """Indices that a rule answers with, and where nothing of the image does (constant)."""
    outside = np.zeros(index.shape, bool)
    if rule == "clamp":
        return np.clip(index, 0, size - 1), outside
    if rule == "wrap":
        return index % size, outside
    if rule == "mirror":
        period = max(2 * size - 2, 1)
        at = index % period
        return np.minimum(at, period - at) if size > 1 else at * 0, outside
    if rule == "reflect":
        at = index % (2 * size)
        return np.where(at < size, at, 2 * size - 1 - at), outside
    outside = (index < 0) | (index >= size)
    if rule == "none" and np.any(outside):
        raise Invalid("a read outside under none")
    return np.clip(index, 0, size - 1), outside


def gathered(image, rules, value, indices):
    """The elements at `indices`, an array for each dimension that broadcast together; value: the constant."""
    at, outside = [], False
    for index, rule, size in zip(indices, rules, image.shape):
        mapped, beyond = answered(rule, index, size)
        at.append(mapped)
        outside = outside | beyond
    def element(field):
        inside = field[tuple(at)]
        if "constant" not in rules:
            return inside
        return np.where(outside, convert(value, field.dtype), inside)
    return image.map(element)
