/**
 * How an app looks: as a part of the host's product.
 */
import { Options } from "@tollgate/store/internal"

const maxLogo = 64 * 1024

/** No other host, and nothing that a browser would take for one. */
export const isOwnPath = (path: string): boolean =>
  /^(?:\/(?!\/))?[\w.-]+(?:\/[\w.-]+)*$/.test(path) && !/(^|\/)\.\.?(\/|$)/.test(path)

const isPicture = (url: string): boolean => /^data:image\/(?:svg\+xml|png|webp|jpeg|gif)[;,]/.test(url)

/** The relative luminance of a colour, as WCAG defines it. */
const getLuminance = (colour: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(colour.slice(start, start + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The darkest background of the light theme. */
const background = "#eef0f3"

const isDarkEnough = (colour: string): boolean =>
  (getLuminance(background) + 0.05) / (getLuminance(colour) + 0.05) >= 4.5

/** The options of a brand: the name of the product, its logo and its colour. */
export const Brand = {
  name: Options.string("must have 1 to 40 characters", (name) => /^\S.{0,39}$/u.test(name)),
  logo: Options.string(
    "must be a path of your server such as /logo.svg, or a data: URL of an image with at most 64 KiB",
    (logo) => logo.length <= maxLogo && (isOwnPath(logo) || isPicture(logo))
  ),
  colour: Options.string(
    "must be a colour as #rrggbb with a contrast of 4.5 to light grey (#eef0f3), such as #1f5fbf: take a darker one",
    (colour) => /^#[0-9a-f]{6}$/i.test(colour) && isDarkEnough(colour)
  )
}
