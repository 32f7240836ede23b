/** What runs on the graphics card. Colours are bytes of the theme and stay as they are: nothing is lit. */

const PLACING = `
uniform mat4 view;
uniform float pointSize;
uniform float distance_;
// Nearer points are larger and fresher, those behind are smaller and nearer to the background.
float sizeFactor(float w) { return distance_ > 0.0 ? clamp(distance_ / w, 0.45, 4.0) : 1.0; }
float fadeOf(float w) { return distance_ > 0.0 ? 0.62 * clamp((w - distance_ + 0.75) / 1.9, 0.0, 1.0) : 0.0; }
`;

export const POINT_VERTEX = `#version 300 es
layout(location = 0) in vec3 place;
layout(location = 1) in vec4 colour;
${PLACING}
uniform float ring;
out vec3 tint;
out float fade;
out float edge;
void main() {
  gl_Position = view * vec4(place, 1.0);
  float size = max(pointSize * sizeFactor(gl_Position.w), 2.0) + 2.0 * ring;
  gl_PointSize = size;
  tint = colour.rgb;
  fade = ring > 1.5 ? 0.0 : fadeOf(gl_Position.w);
  edge = 1.0 - 2.0 * ring / size;
}`;

export const POINT_FRAGMENT = `#version 300 es
precision mediump float;
in vec3 tint;
in float fade;
in float edge;
uniform vec3 surface;
uniform vec3 rim;
out vec4 result;
void main() {
  vec2 from = gl_PointCoord * 2.0 - 1.0;
  float square = dot(from, from);
  if (square > 1.0) discard;
  vec3 inner = mix(tint, surface, fade);
  result = vec4(square > edge * edge ? rim : inner, 1.0);
}`;

export const SPRITE_VERTEX = `#version 300 es
layout(location = 0) in vec3 place;
layout(location = 1) in vec4 colour;
${PLACING}
uniform int perRow;
out vec3 tint;
out float fade;
flat out vec2 cell;
flat out float size;
void main() {
  gl_Position = view * vec4(place, 1.0);
  size = max(pointSize * sizeFactor(gl_Position.w), 4.0);
  gl_PointSize = size;
  tint = colour.rgb;
  fade = 0.6 * fadeOf(gl_Position.w);
  cell = vec2(float(gl_VertexID % perRow), float(gl_VertexID / perRow));
}`;

export const SPRITE_FRAGMENT = `#version 300 es
precision highp float;
in vec3 tint;
in float fade;
flat in vec2 cell;
flat in float size;
uniform vec3 surface;
uniform sampler2D sheet;
uniform vec2 cellSize;   // of one picture, as a share of the sheet
uniform vec2 aspect;     // how much of the square the picture fills
uniform float border;    // of the colour of the point, in pixels
out vec4 result;
void main() {
  vec2 from = (gl_PointCoord * 2.0 - 1.0) / aspect;
  vec2 inset = vec2(2.0 * border / size) / aspect;
  if (max(abs(from.x), abs(from.y)) > 1.0) discard;
  vec2 inside = from / max(vec2(0.05), 1.0 - inset);
  if (max(abs(inside.x), abs(inside.y)) > 1.0) {
    result = vec4(mix(tint, surface, fade), 1.0);
    return;
  }
  // Half a picture point in from its edge, so that the neighbour in the sheet does not shine through.
  vec2 half_ = 0.5 / (cellSize * vec2(textureSize(sheet, 0)));
  vec2 at = clamp(inside * 0.5 + 0.5, half_, 1.0 - half_);
  vec4 picture = texture(sheet, (cell + at) * cellSize);
  vec3 shown = mix(surface, picture.rgb, picture.a);
  result = vec4(mix(shown, surface, fade), 1.0);
}`;
