/** Whether an `Accept-Encoding` header accepts gzip. Without the header the answer is no, for clients that cannot unzip. */
export const acceptsGzip = (header: string | undefined): boolean => {
  const weights = new Map(
    (header ?? "").split(",").map((item) => {
      const [coding = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))
      return [coding, weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, ""))]
    })
  )
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0
}
