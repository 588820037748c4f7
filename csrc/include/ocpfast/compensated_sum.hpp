// Sums whose rounding does not grow with the number of terms.
#pragma once

namespace ocp {

// 36,000 additions of 0.1 drift by 1e-9; with the compensation an hour is an hour.
class CompensatedSum {
public:
    void add(double term) {
        const double sum = sum_ + term;
        const double added = sum - sum_;
        lost_ += (sum_ - (sum - added)) + (term - added);
        sum_ = sum;
    }
    double value() const { return sum_ + lost_; }

    template <class Archive>
    void archive(Archive& a) {
        a(sum_, lost_);
    }

private:
    double sum_ = 0, lost_ = 0;
};

}  // namespace ocp
