package output

import "fmt"

// Size formats a number of bytes, such as 12.3 MiB.
func Size(bytes int64) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	n, unit := float64(bytes)/(1<<10), 0
	for ; n >= 1000 && unit < 3; unit++ {
		n /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", n, [...]string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
