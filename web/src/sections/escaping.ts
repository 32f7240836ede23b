/** Names in lists of the address: only what would be misread there is escaped. */

export function escaped(name: string): string {
  return name.replace(/[%,~]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
}

export function unescaped(text: string): string {
  return text.replace(/%(25|2c|7e)/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}
