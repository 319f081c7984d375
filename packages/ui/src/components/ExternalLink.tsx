/** Whether a browser opens the URL as a web page, and runs nothing. */
export const isWebUrl = (text: string): boolean =>
  URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol)

/** A URL from the server: a link if it leads to a web page, otherwise only its text. */
export const ExternalLink = ({ url }: { readonly url: string }) =>
  isWebUrl(url) ? (
    <a class="external-link" href={url} target="_blank" rel="noopener noreferrer">
      {url}
    </a>
  ) : (
    <span>{url}</span>
  )
