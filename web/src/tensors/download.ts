/** Hand a file to the reader of the page. */

export function download(name: string, data: string | ArrayBuffer, type: string): void {
  const address = URL.createObjectURL(new Blob([data], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = safeName(name);
  document.body.append(link);
  link.click();
  link.remove();
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Names of tensors have slashes and worse in them. */
export function safeName(name: string): string {
  const plain = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[._]+/, "");
  return plain === "" ? "data" : plain.slice(-120);
}
