/** A program of the graphics card, with the places of its settings. */

export interface Program {
  readonly program: WebGLProgram;
  readonly at: (name: string) => WebGLUniformLocation | null;
}

/** Throws what the card has to say where the shaders do not fit. */
export function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): Program {
  const program = gl.createProgram();
  const shaders = [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const;
  const reasons: string[] = [];
  for (const [type, text] of shaders) {
    const shader = gl.createShader(type);
    if (shader === null) throw new Error("no shader");
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    reasons.push(gl.getShaderInfoLog(shader) ?? "");
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true && !gl.isContextLost())
    throw new Error([gl.getProgramInfoLog(program), ...reasons].join(" ") || "the shaders do not fit together");
  const known = new Map<string, WebGLUniformLocation | null>();
  const at = (name: string): WebGLUniformLocation | null => {
    if (!known.has(name)) known.set(name, gl.getUniformLocation(program, name));
    return known.get(name) ?? null;
  };
  return { program, at };
}

// --- A drawing hears when its graphics card is gone, and when it is back.

/** The browser may take the graphics card away; it says when it is back. */
export function followLoss(element: HTMLCanvasElement, onLost: () => void, onBack: () => void): () => void {
  const lost = (event: Event): void => {
    event.preventDefault();
    onLost();
  };
  element.addEventListener("webglcontextlost", lost);
  element.addEventListener("webglcontextrestored", onBack);
  return () => {
    element.removeEventListener("webglcontextlost", lost);
    element.removeEventListener("webglcontextrestored", onBack);
  };
}
