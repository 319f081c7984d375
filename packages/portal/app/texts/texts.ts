/** The texts of the page, with those of the host. */
import { setWords } from "@tollgate/ui/words.ts"
import { defaultTexts, type PortalTexts } from "../../src/texts.ts"
import { settings } from "../session/settings.ts"

export const texts: PortalTexts = { ...defaultTexts, ...settings.texts }

setWords(texts)
