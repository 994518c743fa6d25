// A text <-> the fragment of a link: deflated, then base64 for URLs. Browsers never send a fragment to a server.
const MARK = "#job=";

export async function linkOf(text) {
  const packed = new Uint8Array(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text)));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return MARK + letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text that a fragment carries; null where it carries none. Throws where it is cut off, or over `most` bytes. */
export async function textOf(fragment, most) {
  if (!fragment.startsWith(MARK)) return null;
  const letters = atob(fragment.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const bytes = await through(new DecompressionStream("deflate-raw"), packed, most);
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

async function through(stream, bytes, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const pieces = [];
  let size = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    size += piece.value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error("its job is too large");
    }
    pieces.push(piece.value);
  }
  return new Blob(pieces).arrayBuffer();
}
