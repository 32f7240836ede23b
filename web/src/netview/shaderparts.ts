/** What several programs of the graphics card have in common: where units are, which colour and height they have. */

/** Levels, two bytes each, in rows of this many. */
export const TEXTURE_WIDTH = 2048;

/** Of the faces of a bar: its top, the side towards the front, the side to the left or right, its underside. */
export const SHADES = "const float SHADES[4] = float[4](1.0, 0.82, 0.68, 0.9);";

/** From a cell to its level, colour and height; `plates.ts` and `scaling.ts` count in the same way. */
export const UNITS = `
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

export const PLACING = `
uniform mat4 view;
uniform vec3 origin;
uniform vec3 across;
uniform vec3 down;
uniform vec3 up;
vec4 onScreen(vec3 place) {
  return view * vec4(origin + across * place.x + down * place.y + up * place.z, 1.0);
}
`;

export const HEAD = `#version 300 es
precision highp float;
precision highp int;
`;
