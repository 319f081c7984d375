/** 128 random bits as text. Without HTTPS, browsers have no `crypto.randomUUID`. */
export const makeRandomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")
