/** Units that rise, and lines, as the graphics card draws them. Colours stay as they are: faces differ in shade, no more. */

/** Levels, two bytes each, in rows of this many. */
export const TEXTURE_WIDTH = 2048;

/** Of the faces of a bar: its top, the side towards the front, the side to the left or right, its underside. */
const SHADES = "const float SHADES[4] = float[4](1.0, 0.82, 0.68, 0.9);";

/** From a cell to its level, colour and height; `plates.ts` and `value-ranges.ts` count in the same way. */
const UNITS = `
uniform highp usampler2D levels;
uniform sampler2D ramp;
uniform ivec2 cells;        // columns and rows in all
uniform vec4 tiles;         // columns and rows of a tile, and of a tile with its gap
uniform ivec4 strides;      // from tile to tile, row to row, column to column; tiles across
uniform int count;
uniform vec2 tint;          // slope and start
uniform vec2 rise;
uniform bool isMagnitude;
uniform float leastHeight;
uniform float fading;
uniform vec3 danger;
uniform vec3 faint;
uniform vec3 surface;
uniform vec2 notThere;      // how dark the two stripes of what is not there are

const uint HIGHEST = 65531u;
const uint NOT_THERE = 65532u;
const uint NOT_A_NUMBER = 65535u;

int unitAt(ivec2 cell) {
  if (any(lessThan(cell, ivec2(0))) || any(greaterThanEqual(cell, cells))) return -1;
  // Not by dividing whole numbers, which is slow without a card; the half keeps the result off the edge.
  vec2 at = vec2(cell);
  vec2 tile = floor((at + 0.5) / tiles.zw);
  vec2 inside = at - tile * tiles.zw;
  if (any(greaterThanEqual(inside, tiles.xy))) return -1;
  int unit = (int(tile.y) * strides.w + int(tile.x)) * strides.x + int(inside.y) * strides.y + int(inside.x) * strides.z;
  return unit < count ? unit : -1;
}

uint levelOf(int unit) {
  return texelFetch(levels, ivec2(unit & ${TEXTURE_WIDTH - 1}, unit >> ${Math.log2(TEXTURE_WIDTH)}), 0).r;
}

float riseOf(uint level) {
  if (level > HIGHEST) return level == NOT_THERE || level == NOT_A_NUMBER ? 0.0 : 1.0;
  float height = rise.x * float(level) + rise.y;
  return clamp(isMagnitude ? abs(height) : height, 0.0, 1.0);
}

float heightOf(uint level) {
  return level == NOT_THERE ? 0.0 : mix(leastHeight, 1.0, riseOf(level));
}

// Two stripes to a cell where that can be seen, wider ones where cells are small. pixel: how many cells it spans.
bool isStriped(vec2 place, float pixel) {
  float finest = 1.0 / max(pixel * 7.0, 1e-6);
  float frequency = min(2.0, exp2(floor(log2(finest))));
  return fract((place.x + place.y) * frequency) < 0.5;
}

vec4 codeColour(uint level, vec2 place, float pixel) {
  bool stripe = isStriped(place, pixel);
  if (level == NOT_A_NUMBER) return vec4(stripe ? danger : mix(surface, danger, 0.25), 1.0);
  if (level == NOT_THERE) return vec4(mix(surface, faint, stripe ? notThere.x : notThere.y), 1.0);
  return vec4(danger, 1.0);
}

vec4 colourOf(uint level, vec2 place, float pixel) {
  if (level > HIGHEST) return codeColour(level, place, pixel);
  float at = clamp(tint.x * float(level) + tint.y, 0.0, 1.0);
  vec3 colour = texelFetch(ramp, ivec2(int(at * 255.0 + 0.5), 0), 0).rgb;
  return vec4(colour, fading == 0.0 ? 1.0 : 1.0 - fading * (1.0 - riseOf(level)));
}
`;

const PLACING = `
uniform mat4 view;
uniform vec3 origin;
uniform vec3 across;
uniform vec3 down;
uniform vec3 up;
vec4 onScreen(vec3 place) {
  return view * vec4(origin + across * place.x + down * place.y + up * place.z, 1.0);
}
`;

const HEAD = `#version 300 es
precision highp float;
precision highp int;
`;

/** Bars: no buffers, every corner is found from its number. */
export const BARS_VERTEX = `${HEAD}
${PLACING}
${UNITS}
uniform vec3 eye;           // on the plate
uniform bvec2 isReversed;   // such that what is farther comes first
uniform float inset;
flat out int unit;
flat out int face;
out vec2 place;
const vec2 CORNERS[6] = vec2[6](vec2(0, 0), vec2(1, 0), vec2(1, 1), vec2(0, 0), vec2(1, 1), vec2(0, 1));
void main() {
  int bar = gl_VertexID / 18;
  int part = gl_VertexID % 18;
  ivec2 cell = ivec2(bar % cells.x, bar / cells.x);
  if (isReversed.x) cell.x = cells.x - 1 - cell.x;
  if (isReversed.y) cell.y = cells.y - 1 - cell.y;
  unit = unitAt(cell);
  face = part / 6;
  place = vec2(0.0);
  if (unit < 0) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    return;
  }
  float height = heightOf(levelOf(unit));
  vec2 low = vec2(cell) + inset;
  vec2 high = vec2(cell) + 1.0 - inset;
  vec2 corner = CORNERS[part - face * 6];
  vec3 at;
  // Of each pair of faces the one towards the eye; sides first, the top over them.
  if (face == 2) {
    at = vec3(mix(low, high, corner), eye.z < 0.0 ? 0.0 : height);
    face = eye.z < 0.0 ? 3 : 0;
  } else if (face == 0) {
    at = vec3(eye.x * 2.0 > low.x + high.x ? high.x : low.x, mix(low.y, high.y, corner.x), corner.y * height);
    face = 2;
  } else {
    at = vec3(mix(low.x, high.x, corner.x), eye.y * 2.0 > low.y + high.y ? high.y : low.y, corner.y * height);
    face = 1;
  }
  place = at.xy;
  // On a side the hatch runs up it.
  if (face == 2) place.x += at.z;
  if (face == 1) place.y += at.z;
  gl_Position = onScreen(at);
}`;

export const BARS_FRAGMENT = `${HEAD}
${UNITS}
${SHADES}
flat in int unit;
flat in int face;
in vec2 place;
out vec4 result;
void main() {
  vec2 span = fwidth(place);
  vec4 colour = colourOf(levelOf(unit), place, max(span.x, span.y));
  result = vec4(colour.rgb * SHADES[face] * colour.a, colour.a);
}`;

/** A box around all bars of a plate, of which the far sides are drawn: each pixel looks for what it meets on the way. */
export const FIELD_VERTEX = `${HEAD}
${PLACING}
uniform vec3 extent;
out vec3 place;
const int FACES[36] = int[36](
  0, 1, 3, 0, 3, 2,  4, 7, 5, 4, 6, 7,  0, 5, 1, 0, 4, 5,
  2, 3, 7, 2, 7, 6,  0, 2, 6, 0, 6, 4,  1, 5, 7, 1, 7, 3);
void main() {
  int corner = FACES[gl_VertexID];
  place = vec3(float(corner & 1), float((corner >> 1) & 1), float(corner >> 2)) * extent;
  gl_Position = onScreen(place);
}`;

export const FIELD_FRAGMENT = `${HEAD}
${PLACING}
${UNITS}
${SHADES}
uniform vec3 eye;
uniform vec3 extent;
uniform float inset;
in vec3 place;
out vec4 result;
void main() {
  vec3 way = place - eye;
  vec3 turn = 1.0 / mix(way, vec3(1e-9), vec3(lessThan(abs(way), vec3(1e-9))));
  vec3 entry = min(-eye * turn, (extent - eye) * turn);
  float from = max(max(entry.x, entry.y), max(entry.z, 0.0));
  float spanned = max(fwidth(place.x), fwidth(place.y));
  vec2 start = (eye + way * (from + 1e-5 * (1.0 - from))).xy;
  ivec2 cell = clamp(ivec2(floor(start)), ivec2(0), cells - 1);
  ivec2 by = ivec2(sign(way.xy));
  vec3 sum = vec3(0.0);
  float open = 1.0;
  float first = -1.0;
  for (int step_ = 0; step_ < 3000; step_++) {
    if (any(lessThan(cell, ivec2(0))) || any(greaterThanEqual(cell, cells))) break;
    int unit = unitAt(cell);
    if (unit >= 0) {
      uint level = levelOf(unit);
      float height = heightOf(level);
      vec3 low = vec3(vec2(cell) + inset, 0.0);
      vec3 high = vec3(vec2(cell) + 1.0 - inset, height);
      vec3 a = (low - eye) * turn;
      vec3 b = (high - eye) * turn;
      vec3 enters = min(a, b);
      vec3 leaves = max(a, b);
      float near = max(max(enters.x, enters.y), max(enters.z, 0.0));
      if (near <= min(leaves.x, min(leaves.y, leaves.z))) {
        int face = near == enters.z ? (way.z > 0.0 ? 3 : 0) : near == enters.y ? 1 : 2;
        vec3 hit = eye + way * near;
        // On a side the hatch runs up it.
        vec2 spot = hit.xy + hit.z * vec2(face == 2, face == 1);
        vec4 colour = colourOf(level, spot, spanned);
        sum += open * colour.a * colour.rgb * SHADES[face];
        open *= 1.0 - colour.a;
        if (first < 0.0 && colour.a > 0.05) first = near;
        if (open < 0.02) break;
      }
    }
    vec2 edges = (vec2(cell) + vec2(greaterThan(by, ivec2(0))) - eye.xy) * turn.xy;
    if (by.x == 0) edges.x = 1e20;
    if (by.y == 0) edges.y = 1e20;
    if (min(edges.x, edges.y) > 1.0) break;
    if (edges.x <= edges.y) cell.x += by.x;
    else cell.y += by.y;
  }
  if (open > 0.99) discard;
  vec4 at = onScreen(eye + way * max(first, 0.0));
  gl_FragDepth = clamp(at.z / at.w * 0.5 + 0.5, 0.0, 1.0);
  result = vec4(sum, 1.0 - open);
}`;

/** Lines of a width in pixels, with soft edges; each from one place to another. */
export const LINE_VERTEX = `${HEAD}
layout(location = 0) in vec3 start;
layout(location = 1) in vec3 end;
layout(location = 2) in vec4 colour;
layout(location = 3) in vec4 widths;  // at the start and at the end, in pixels; the same as lengths in space
uniform mat4 view;
uniform vec2 size;                    // in pixels
uniform float focal;                  // pixels of a length of one, at a distance of one
out vec4 tone;
out float side;
out float half_;
void main() {
  vec4 a = view * vec4(start, 1.0);
  vec4 b = view * vec4(end, 1.0);
  const float NEAR = 1e-4;
  // What is behind the eye ends before it.
  if (a.w < NEAR && b.w > NEAR) a = mix(b, a, (b.w - NEAR) / (b.w - a.w));
  if (b.w < NEAR && a.w > NEAR) b = mix(a, b, (a.w - NEAR) / (a.w - b.w));
  vec2 from = a.xy / a.w * size * 0.5;
  vec2 to = b.xy / b.w * size * 0.5;
  vec2 along = to - from;
  float way = length(along);
  along = way > 1e-4 ? along / way : vec2(1.0, 0.0);
  vec2 beside = vec2(-along.y, along.x);
  bool isEnd = (gl_VertexID & 1) == 1;
  float sign_ = (gl_VertexID >> 1) == 1 ? 1.0 : -1.0;
  vec4 here = isEnd ? b : a;
  float width = isEnd ? widths.y + widths.w * focal / b.w : widths.x + widths.z * focal / a.w;
  half_ = width * 0.5;
  side = sign_ * (half_ + 1.0);
  vec2 shift = beside * side;
  gl_Position = a.w < NEAR && b.w < NEAR ? vec4(2.0, 2.0, 2.0, 1.0) : here + vec4(shift / size * 2.0 * here.w, 0.0, 0.0);
  tone = colour;
}`;

export const LINE_FRAGMENT = `${HEAD}
in vec4 tone;
in float side;
in float half_;
out vec4 result;
void main() {
  float covers = clamp(half_ + 0.5 - abs(side), 0.0, 1.0);
  result = vec4(tone.rgb * tone.a, tone.a) * covers;
}`;

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

const PARTS = `
uniform int colourStride;   // from map to map
uniform vec2 range;         // slope and start
uvec3 partsOf(int unit) {
  return uvec3(levelOf(unit), levelOf(unit + colourStride), levelOf(unit + 2 * colourStride));
}
vec4 mixOf(uvec3 parts) { return vec4(clamp(vec3(parts) * range.x + range.y, 0.0, 1.0), 1.0); }
`;

const PICTURE = `
${PARTS}
vec4 shadeOf(int unit, vec2 place, float pixel) {
  uvec3 parts = partsOf(unit);
  uint worst = max(parts.r, max(parts.g, parts.b));
  return worst > HIGHEST ? codeColour(worst, place, pixel) : mixOf(parts);
}
`;

const VALUES = `
vec4 shadeOf(int unit, vec2 place, float pixel) { return colourOf(levelOf(unit), place, pixel); }
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
      if (levelOf(unit) > NOT_THERE) alarm = 1.0;
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
${PARTS}
vec4 quickOf(int unit) { return mixOf(partsOf(unit)); }`;

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
