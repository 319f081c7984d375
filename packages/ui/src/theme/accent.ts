/** The accent colour of the host: as it is on light, and lighter on dark, until one can read it. */
type Colour = ReadonlyArray<number>

/** The lightest background of the dark theme. */
const darkBackground = [0x1b, 0x1f, 0x26]

const parse = (text: string): Colour => [1, 3, 5].map((start) => Number.parseInt(text.slice(start, start + 2), 16))

const getLuminance = (colour: Colour): number => {
  const [red = 0, green = 0, blue = 0] = colour.map((value) =>
    value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4
  )
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const mixWithWhite = (colour: Colour, share: number): Colour =>
  colour.map((value) => Math.round(value + (255 - value) * share))

const isReadable = (colour: Colour): boolean =>
  (getLuminance(colour) + 0.05) / (getLuminance(darkBackground) + 0.05) >= 6

const lighten = (colour: Colour): Colour => {
  const shares = Array.from({ length: 20 }, (_, index) => index / 20)
  return mixWithWhite(colour, shares.find((share) => isReadable(mixWithWhite(colour, share))) ?? 1)
}

export const applyAccent = (accent: string | undefined): void => {
  if (accent === undefined) return
  const { style } = document.documentElement
  style.setProperty("--accent", `light-dark(${accent}, rgb(${lighten(parse(accent)).join(" ")}))`)
  style.setProperty("--accent-strong", accent)
}
