/** Plates and units that lie flat on them, as the graphics card draws them. */
import { HEAD, PLACING, UNITS } from "./shaderparts";

/** A plate, its margin too. */
export const PLATE_VERTEX = `${HEAD}
${PLACING}
uniform vec2 margin;
uniform vec2 extent;
out vec2 place;
void main() {
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
  place = mix(-margin, extent + margin, corner);
  gl_Position = onScreen(vec3(place, 0.0));
}`;

/** Nothing on it: waiting in grey, hatched where nothing was recorded, or bars come later. */
export const PLATE_FRAGMENT = `${HEAD}
uniform vec4 fill;
uniform vec2 extent;
uniform vec3 dark;
uniform vec3 pale;
uniform float covers;
in vec2 place;
out vec4 result;
void main() {
  bool isInside = all(greaterThanEqual(place, vec2(0.0))) && all(lessThan(place, extent));
  bool isDark = fract((gl_FragCoord.x + gl_FragCoord.y) / 8.0) < 0.5;
  float share = isInside ? covers : 0.0;
  vec3 own = isDark ? dark : pale;
  result = vec4(own * share + fill.rgb * fill.a * (1.0 - share), share + fill.a * (1.0 - share));
}`;

const PICTURE = `
uniform int colourStride;   // from map to map
uniform vec2 range;         // slope and start
vec4 shadeOf(int unit, vec2 place, float pixel) {
  uvec3 parts = uvec3(levelOf(unit), levelOf(unit + colourStride), levelOf(unit + 2 * colourStride));
  uint worst = max(parts.r, max(parts.g, parts.b));
  if (worst > HIGHEST) return codeColour(worst, place, pixel);
  return vec4(clamp(vec3(parts) * range.x + range.y, 0.0, 1.0), 1.0);
}
bool isNoNumber(int unit) { return levelOf(unit) > NOT_THERE; }
`;

const VALUES = `
vec4 shadeOf(int unit, vec2 place, float pixel) { return colourOf(levelOf(unit), place, pixel); }
bool isNoNumber(int unit) { return levelOf(unit) > NOT_THERE; }
`;

const FLAT = `
uniform float inset;
uniform vec4 fill;
in vec2 place;
out vec4 result;
void main() {
  vec2 span = vec2(length(vec2(dFdx(place.x), dFdy(place.x))), length(vec2(dFdx(place.y), dFdy(place.y))));
  float pixel = max(span.x, span.y);
  // Where a pixel spans several cells, the mean of some of them.
  int side = pixel > 2.2 ? 3 : pixel > 1.0 ? 2 : 1;
  float part = 1.0 / float(side);
  vec3 sum = vec3(0.0);
  float shown = 0.0;
  float alarm = 0.0;
  for (int y = 0; y < side; y++) {
    for (int x = 0; x < side; x++) {
      vec2 here = place + ((vec2(float(x), float(y)) + 0.5) * part - 0.5) * span;
      int unit = unitAt(ivec2(floor(here)));
      if (unit < 0) continue;
      vec4 colour = shadeOf(unit, here, pixel);
      sum += colour.rgb * colour.a;
      shown += colour.a;
      // What is no number is never lost among others.
      if (isNoNumber(unit)) alarm = 1.0;
    }
  }
  float share = shown * part * part;
  if (side == 1 && inset > 0.0) {
    vec2 edge = 0.5 - inset - abs(fract(place) - 0.5);
    vec2 covers = clamp(edge / span + 0.5, 0.0, 1.0);
    share *= covers.x * covers.y;
  }
  vec3 own = shown > 0.0 ? sum / shown : vec3(0.0);
  if (alarm > 0.0 && side > 1) {
    own = danger;
    share = 1.0;
  }
  result = vec4(own * share + fill.rgb * fill.a * (1.0 - share), share + fill.a * (1.0 - share));
}`;

/** As little as it takes, for cards that cannot keep up: one cell for each pixel, no hatches. */
const QUICK = `
uniform vec4 fill;
in vec2 place;
out vec4 result;
void main() {
  int unit = unitAt(ivec2(floor(place)));
  result = vec4(fill.rgb * fill.a, fill.a);
  if (unit >= 0) result = quickOf(unit);
}`;

const QUICK_VALUES = `
vec4 quickOf(int unit) {
  uint level = levelOf(unit);
  vec3 colour = texelFetch(ramp, ivec2(int(clamp(tint.x * float(level) + tint.y, 0.0, 1.0) * 255.0 + 0.5), 0), 0).rgb;
  if (level > HIGHEST) colour = level == NOT_THERE ? mix(surface, faint, 0.2) : danger;
  return vec4(colour, 1.0);
}`;

const QUICK_PICTURE = `
uniform int colourStride;
uniform vec2 range;
vec4 quickOf(int unit) {
  uvec3 parts = uvec3(levelOf(unit), levelOf(unit + colourStride), levelOf(unit + 2 * colourStride));
  return vec4(clamp(vec3(parts) * range.x + range.y, 0.0, 1.0), 1.0);
}`;

/**
 * Units as a flat picture. Without a card both ways of every branch are taken, so that each kind of picture has a
 * program of its own.
 */
export const FLAT_FRAGMENTS = {
  values: `${HEAD}${UNITS}${VALUES}${FLAT}`,
  picture: `${HEAD}${UNITS}${PICTURE}${FLAT}`,
  quickValues: `${HEAD}${UNITS}${QUICK_VALUES}${QUICK}`,
  quickPicture: `${HEAD}${UNITS}${QUICK_PICTURE}${QUICK}`,
} as const;
