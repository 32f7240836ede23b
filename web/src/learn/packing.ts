/** An expression as a short text that may stand in an address, and back. */

/** Longer addresses are cut off by what they are sent with. */
const MAX_SIGNS = 1800;

/** Null where it is too long for an address, or the browser cannot. */
export async function pack(text: string): Promise<string | null> {
  if (typeof CompressionStream === "undefined") return null;
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const packed = btoa(String.fromCharCode(...bytes.slice(0, MAX_SIGNS)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
  return packed.length > MAX_SIGNS || bytes.length > MAX_SIGNS ? null : packed;
}

/** Null where it is no text that was packed so. */
export async function unpack(packed: string): Promise<string | null> {
  if (typeof DecompressionStream === "undefined") return null;
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (sign) => sign.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(
      await through(bytes, new DecompressionStream("deflate-raw")),
    );
  } catch {
    return null;
  }
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const body = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(body).arrayBuffer());
}
